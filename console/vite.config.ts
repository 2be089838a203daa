import react from "@vitejs/plugin-react"
import { defineConfig } from "vite"

/** Builds the pages into `dist/`, as the server sends them. */
export default defineConfig({
  base: "/console/",
  plugins: [react()],
  // The server puts the nonce of each answer here: styles that components write at run time carry it.
  html: { cspNonce: "__CSP_NONCE__" },
  build: {
    // Nothing is inlined: the policy lets pages load from their own address alone.
    assetsInlineLimit: 0,
    // These know light-dark() and nesting: the build leaves both as they are.
    target: ["chrome123", "edge123", "firefox128", "safari17.5"],
    chunkSizeWarningLimit: 1_000,
    reportCompressedSize: false,
  },
})
