// The API as a plain page: each path with its fields, read from /openapi.json.

import { element } from "./panels.js";

const api = await (await fetch("openapi.json")).json();
const nameOf = (field) => field.$ref?.split("/").at(-1);

function typeOf(field) {
  if (field.anyOf) return field.anyOf.map(typeOf).join(" or ");
  if (field.enum) return field.enum.join(", ");
  if (field.type === "array") return `list of ${typeOf(field.items)}`;
  return field.type ?? nameOf(field) ?? "";
}

// [name, type, meaning] of each field that a path takes.
function fieldsOf(operation) {
  const named = (operation.parameters ?? []).map((one) => [one.name, typeOf(one.schema), one.description ?? ""]);
  const [content] = Object.values(operation.requestBody?.content ?? {});
  if (!content) return named;
  const body = api.components.schemas[nameOf(content.schema)] ?? content.schema;
  const inBody = Object.entries(body.properties).map(([name, field]) => [name, typeOf(field), field.description ?? ""]);
  return [...named, ...inBody];
}

document.body.append(
  element("h1", {}, `${api.info.title} ${api.info.version}`),
  element("p", {}, `${api.info.description} `, element("a", { href: "openapi.json" }, "For programs"), "."),
);
for (const [path, methods] of Object.entries(api.paths)) {
  for (const [method, operation] of Object.entries(methods)) {
    const rows = fieldsOf(operation).map(([name, type, meaning]) =>
      element("tr", {}, element("td", {}, element("code", {}, name)), element("td", {}, type), element("td", {}, meaning)));
    document.body.append(
      element("h2", {}, element("code", {}, `${method.toUpperCase()} ${path}`)),
      element("p", {}, operation.summary),
      element("table", {}, ...rows),
    );
  }
}
