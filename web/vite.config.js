import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { defineConfig } from "vite";
import { viteSingleFile } from "vite-plugin-singlefile";

const ASSET = "../src/cuvein/report/assets";

/**
 * Lets the page run its own script and style, named by their hashes, and nothing else: no network, no other
 * script. Names in profiles come from outside; should one ever become markup, it still cannot do anything.
 */
function contentSecurityPolicy() {
  const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
  return {
    name: "content-security-policy",
    enforce: "post",
    generateBundle: { order: "post", handler(_, bundle) {
      for (const file of Object.values(bundle)) {
        if (file.type !== "asset" || !file.fileName.endsWith(".html")) continue;
        let page = String(file.source).replaceAll("\r\n", "\n");
        const script = /<script[^>]*>([\s\S]*?)<\/script>/.exec(page);
        const style = /<style[^>]*>([\s\S]*?)<\/style>/.exec(page);
        if (!script || !style) throw new Error("the page has no script or no style to name in its policy");
        const policy =
          `default-src 'none'; script-src ${hash(script[1])}; style-src ${hash(style[1])}; ` +
          "img-src data: blob:; base-uri 'none'; form-action 'none'";
        page = page.replace("<!--policy-->", () => `<meta http-equiv="Content-Security-Policy" content="${policy}">`);
        // Attributes that only matter to pages with more than one file.
        file.source = page.replace(/<(script|style)[^>]*? (crossorigin|rel="stylesheet")[^>]*>/g, (tag) =>
          tag.replace(/ crossorigin| rel="stylesheet"/g, ""),
        );
      }
    } },
  };
}

/** Puts the licences of the libraries the page contains into it, as they ask. */
function notices() {
  const libraries = ["@dagrejs/dagre", "@dagrejs/graphlib"];
  return {
    name: "notices",
    transformIndexHtml(page) {
      const texts = libraries.map((name) => `${name}\n\n${readFileSync(`node_modules/${name}/LICENSE`, "utf8").trim()}`);
      return page.replace("<!--notices-->", () => `<!--\nThis page contains:\n\n${texts.join("\n\n").replaceAll("--", "- -")}\n-->`);
    },
  };
}

export default defineConfig({
  base: "./",
  publicDir: false,
  plugins: [notices(), viteSingleFile({ removeViteModuleLoader: true }), contentSecurityPolicy()],
  build: {
    outDir: ASSET,
    emptyOutDir: false,
    modulePreload: false,
    rollupOptions: { input: "report.html" },
  },
});
