// A figure's text alternative stands in its output's metadata, where IPython.display.Image(alt=…) puts it. JupyterLab
// 4.6 draws the figure and leaves the words out, so that a screen reader finds a picture without a name. Here its own
// renderer of pictures adds them. And: the launcher has a card for the start page, which is read anew whenever it is
// shown; a notebook that was only opened is not marked as unsaved (JupyterLab notes the kernel's version in it).
// Written by hand in the form that JupyterLab loads, so that nothing has to be built.
(() => {
  "use strict";
  const PICTURES = ["image/bmp", "image/png", "image/jpeg", "image/gif", "image/webp"];
  const RANK = 90; // JupyterLab's own for pictures
  let shared;

  async function take(name) {
    const [version] = Object.values(shared[name]); // JupyterLab has exactly one
    return (await version.get())();
  }

  async function start() {
    const { ILauncher } = await take("@jupyterlab/launcher");
    const { INotebookTracker } = await take("@jupyterlab/notebook");
    const { markdownIcon, notebookIcon } = await take("@jupyterlab/ui-components");
    const START = "START.md";

    function readAnew(_, { newValue: shown }) {
      if (shown?.context?.path === START && !shown.context.model.dirty) shown.context.revert();
    }

    async function openedOnly(_, panel) {
      await panel.context.ready;
      const { model } = panel.context;
      const cells = () => JSON.stringify(model.sharedModel.cells.map((cell) => cell.toJSON()));
      const before = cells();
      function check() {
        if (!model.dirty) return;
        if (cells() === before) model.dirty = false;
        else model.stateChanged.disconnect(check);
      }
      model.stateChanged.connect(check);
      check();
    }

    return {
      id: "course-figures:start",
      description: "Leads to the start page, and keeps it and the unsaved marks true.",
      autoStart: true,
      requires: [INotebookTracker],
      optional: [ILauncher],
      activate: async (app, notebooks, launcher) => {
        notebooks.widgetAdded.connect(openedOnly);
        app.shell.currentChanged?.connect(readAnew);
        const execute = () => app.commands.execute("docmanager:open", { path: START, factory: "Markdown Preview" });
        const caption = "All notebooks of the course";
        app.commands.addCommand("course:start", { label: "Start page", caption, icon: notebookIcon, execute });
        const kernelIconUrl = `data:image/svg+xml,${encodeURIComponent(markdownIcon.svgstr)}`;
        launcher?.add({ command: "course:start", category: "Notebook", rank: -1, kernelIconUrl });
      },
    };
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
      const made = [await plugin(), await start()];
      return () => ({ __esModule: true, default: made });
    },
  };
})();
