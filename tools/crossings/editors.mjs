// Opens and saves a notebook with an editor's own code, from npm: node editors.mjs jupyterlab|nteract|vscode FILE

import fs from "node:fs";
import Module, { createRequire } from "node:module";

const require = createRequire(import.meta.url);
const [, , editor, file] = process.argv;

// JupyterLab's document, with the texts in one piece, as Jupyter's server sends them.
function jupyterlab(text) {
  const notebook = require("@jupyter/ydoc").YNotebook.create();
  const isText = (key, value) => Array.isArray(value) && key !== "tags" && value.every((part) => typeof part === "string");
  const joined = (key, value) => (isText(key, value) ? value.join("") : value);
  notebook.fromJSON(JSON.parse(text, joined));
  return JSON.stringify(notebook.toJSON());
}

function nteract(text) {
  const { fromJS, toJS } = require("@nteract/commutable");
  return JSON.stringify(toJS(fromJS(JSON.parse(text))));
}

// VS Code's extension asks the module `vscode` for the classes of a notebook's parts, which hold what they are given, and
// registers its serializer. What else it asks for is about windows.
async function vscode(text) {
  const holds = (...names) => function (...values) { names.forEach((name, index) => (this[name] = values[index])); };
  const item = holds("data", "mime");
  const bytes = (value) => new TextEncoder().encode(value);
  item.text = (value, mime = "text/plain") => new item(bytes(value), mime);
  item.json = (value, mime = "application/json") => item.text(JSON.stringify(value), mime);
  item.stdout = (value) => item.text(value, "application/vnd.code.notebook.stdout");
  item.stderr = (value) => item.text(value, "application/vnd.code.notebook.stderr");
  item.error = ({ name, message, stack }) => item.json({ name, message, stack }, "application/vnd.code.notebook.error");
  const Base = class {};
  const special = { [Symbol.toPrimitive]: () => "", prototype: Base.prototype, then: undefined }; // text; class; no promise
  const nothing = new Proxy(Base, {
    apply: () => nothing,
    get: (_, name) => (name in special ? special[name] : nothing),
  });
  const besides = (known) => new Proxy(known, { get: (object, name) => (name in object ? object[name] : nothing) });
  let serializer;
  const api = besides({
    NotebookCellData: holds("kind", "value", "languageId"),
    NotebookCellKind: { Markup: 1, Code: 2 },
    NotebookCellOutput: holds("items", "metadata"),
    NotebookCellOutputItem: item,
    NotebookData: holds("cells"),
    workspace: besides({
      getConfiguration: () => ({ get: () => false }), // in one process: no worker of a browser
      notebookDocuments: [],
      registerNotebookSerializer: (type, one) => { if (type === "jupyter-notebook") serializer = one; },
    }),
  });
  const load = Module._load;
  Module._load = (name, ...rest) => (name === "vscode" ? api : load(name, ...rest));
  const extension = "@codingame/monaco-vscode-ipynb-default-extension";
  require(`${require.resolve(extension).replace(/[^/]*$/, "")}resources/ipynbMain.browser.js`).activate({ subscriptions: [] });
  const token = { isCancellationRequested: false };
  return serializer.serializeNotebook(await serializer.deserializeNotebook(bytes(text), token), token);
}

fs.writeFileSync(file, await { jupyterlab, nteract, vscode }[editor](fs.readFileSync(file, "utf8")));
process.exit(); // JupyterLab's document would wait for others
