import { defineConfig } from "vite";

// what `lexigraph serve` hands out; `make web` builds it, nobody commits it
const OUT = "../layers/core/lexigraph/api/page";
const API = process.env.LEXIGRAPH_URL ?? "http://127.0.0.1:8010";

export default defineConfig({
  base: "./", // the page works wherever it is mounted
  build: {
    outDir: OUT,
    emptyOutDir: true,
    target: ["chrome123", "edge123", "firefox120", "safari17.5"],
    assetsInlineLimit: 0, // the content security policy allows no data: addresses
    modulePreload: { polyfill: false },
    license: { fileName: "licences.md" }, // of what is bundled
  },
  server: {
    fs: { allow: [".."] }, // the client of the API is beside this folder
    proxy: { "^/(?!$|@|src/|node_modules/|icon\\.svg|index\\.html)": API },
  },
});
