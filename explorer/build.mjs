// Makes src/linkstep/explorer/bundle of the sources here: the same bytes from the same lock file, whoever builds.
import { readFile, writeFile } from "node:fs/promises";
import { build, context } from "esbuild";

const bundle = new URL("../src/linkstep/explorer/bundle/", import.meta.url).pathname;
const where = process.argv.includes("--to") ? process.argv[process.argv.indexOf("--to") + 1] : bundle;
const options = {
  absWorkingDir: new URL(".", import.meta.url).pathname,
  entryPoints: { explorer: "src/main.tsx" },
  outdir: where,
  bundle: true,
  minify: true,
  format: "iife",
  target: ["chrome103", "firefox113", "safari16.4"], // the first with DecompressionStream
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  charset: "ascii", // so that a closing script tag cannot be in it by accident of an encoding
  logLevel: "warning",
};

if (process.argv.includes("--watch")) {
  await (await context(options)).watch();
} else {
  await build(options);
  const licence = await readFile(new URL("node_modules/preact/LICENSE", import.meta.url), "utf8");
  await writeFile(`${where}/licences.txt`, `In explorer.js there is Preact:\n\n${licence}`);
}
