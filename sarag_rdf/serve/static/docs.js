"use strict";

const byId = (id) => document.getElementById(id);

function element(name, text, ...children) {
  const made = document.createElement(name);
  if (text !== null) made.textContent = text;
  made.append(...children);
  return made;
}

function resolved(document_, part) {
  if (!part || !part.$ref) return part;
  return part.$ref.slice(2).split("/").reduce((found, key) => found[key], document_);
}

function kind(schema) {
  if (!schema) return "";
  if (schema.enum) return schema.enum.join(", ");
  if (schema.type === "array") return `${kind(schema.items)}, repeated`;
  return schema.type || "";
}

function table(heads, rows) {
  const body = element("tbody", null, ...rows.map((row) =>
    element("tr", null, ...row.map((value, number) =>
      element("td", null, number ? value : element("code", value))))));
  const head = element("thead", null,
    element("tr", null, ...heads.map((name) => element("th", name))));
  return element("table", null, head, body);
}

function operation(document_, path, method, said) {
  const parts = [
    element("h3", null, element("code", `${method.toUpperCase()} ${path}`)),
    element("p", said.description || said.summary || ""),
  ];
  const parameters = (said.parameters || []).map((part) => resolved(document_, part));
  if (parameters.length) {
    parts.push(table(["parameter", "is", "means"], parameters.map((parameter) =>
      [parameter.name, kind(parameter.schema), parameter.description || ""])));
  }
  const answers = Object.entries(said.responses).map(([status, response]) => {
    const answer = resolved(document_, response);
    const types = Object.keys(answer.content || {}).join(", ");
    return [status, answer.description, types];
  });
  parts.push(table(["status", "means", "as"], answers));
  return parts;
}

async function show() {
  const response = await fetch(new URL("openapi.json", document.baseURI));
  const document_ = await response.json();
  byId("title").textContent = `${document_.info.title} ${document_.info.version}`;
  const parts = [element("p", document_.info.description)];
  for (const [path, item] of Object.entries(document_.paths)) {
    for (const method of ["get", "post", "put", "delete"]) {
      if (item[method]) parts.push(...operation(document_, path, method, {
        ...item[method],
        parameters: [...(item.parameters || []), ...(item[method].parameters || [])],
      }));
    }
  }
  byId("paths").replaceChildren(...parts);
}

show().catch((error) => {
  byId("paths").textContent = `openapi.json cannot be read: ${error.message}`;
});
