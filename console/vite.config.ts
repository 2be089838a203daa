import react from "@vitejs/plugin-react"
import { defineConfig } from "vite"

/** Builds the pages into `dist/`, as the server serves them. */
export default defineConfig({
  base: "/console/",
  plugins: [react()],
  // The server replaces this by the nonce of each answer, for styles that are written at run time.
  html: { cspNonce: "__CSP_NONCE__" },
  build: {
    // Nothing is inlined, because the policy allows loading only from the page's own origin.
    assetsInlineLimit: 0,
    // These support light-dark() and nesting, so the build leaves both unchanged.
    target: ["chrome123", "edge123", "firefox128", "safari17.5"],
    chunkSizeWarningLimit: 1_000,
    reportCompressedSize: false,
  },
})
