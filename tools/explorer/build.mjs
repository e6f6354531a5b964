// Bundles the libraries of the server's pages, with their licences:
//
//   npm ci && npm run build            writes sarag_rdf/server/static/vendor
//   npm ci && node build.mjs FOLDER    writes another folder
//
// The same sources give the same bytes; tests/server/test_vendor.py compares them.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? join(here, "../../sarag_rdf/server/static/vendor");
mkdirSync(out, { recursive: true });
process.chdir(here);

const result = await build({
  entryPoints: ["graph.mjs", "editor.mjs"],
  outdir: out,
  outExtension: { ".js": ".js" },
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  legalComments: "none",
  metafile: true,
  logLevel: "warning",
});

const packages = new Set();
for (const path of Object.values(result.metafile.outputs).flatMap((o) => Object.keys(o.inputs))) {
  const match = /^(?:.*\/)?node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path);
  if (match) packages.add(match[1]);
}
const parts = [...packages].sort().map((name) => {
  const folder = join("node_modules", name);
  const { version, license, author, repository } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const file = readdirSync(folder).sort().find((f) => /^licen[cs]e/i.test(f));
  const from = typeof repository === "string" ? repository : repository?.url ?? "";
  const by = typeof author === "string" ? author : author?.name ?? "";
  const text = file ? readFileSync(join(folder, file), "utf8").replaceAll("\r\n", "\n").trim()
    : `(The package has no licence file. It declares the licence ${license}${by ? `; author: ${by}` : ""}.)`;
  return `${"=".repeat(78)}\n${name} ${version}\nLicence: ${license}\n${from}\n\n${text}\n`;
});
const title = "The files graph.js and editor.js in this folder are bundles of these packages from npm.\n\n";
writeFileSync(join(out, "THIRD-PARTY-LICENSES.txt"), title + parts.join("\n"));
console.log(`${relative(process.cwd(), out)}: ${[...packages].sort().join(", ")}`);
