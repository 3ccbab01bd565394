// A figure's text alternative stands in its output's metadata, where IPython.display.Image(alt=…) puts it. JupyterLab
// 4.6 draws the figure and leaves the words out, so that a screen reader finds a picture without a name. Here its own
// renderer of pictures adds them. Written by hand in the form that JupyterLab loads, so that nothing has to be built.
(() => {
  "use strict";
  const PICTURES = ["image/bmp", "image/png", "image/jpeg", "image/gif", "image/webp"];
  const RANK = 90; // JupyterLab's own for pictures
  let shared;

  async function take(name) {
    const [version] = Object.values(shared[name]); // JupyterLab has exactly one
    return (await version.get())();
  }

  async function plugin() {
    const { IRenderMimeRegistry, RenderedImage } = await take("@jupyterlab/rendermime");

    class DescribedImage extends RenderedImage {
      async render(model) {
        await super.render(model);
        const about = model.metadata[this.mimeType], image = this.node.querySelector("img");
        if (image && about && typeof about.alt === "string") image.alt = about.alt;
      }
    }

    return {
      id: "course-figures:plugin",
      description: "Gives figures the text alternative that their outputs hold.",
      autoStart: true,
      requires: [IRenderMimeRegistry],
      activate: (_, registry) => {
        const createRenderer = (options) => new DescribedImage(options);
        registry.addFactory({ safe: true, mimeTypes: PICTURES, createRenderer }, RANK);
      },
    };
  }

  const all = (window._JUPYTERLAB = window._JUPYTERLAB || {});
  all["course-figures"] = {
    init: (scope) => { shared = scope; },
    get: async () => {
      const made = await plugin();
      return () => ({ __esModule: true, default: made });
    },
  };
})();
