import { fileURLToPath } from "node:url"
import { defineConfig } from "vitest/config"

export default defineConfig({
  root: fileURLToPath(new URL("..", import.meta.url)),
  define: { SOUS_VERSION: JSON.stringify("0.0.0-source") },
  resolve: { conditions: ["sous-source"] },
  ssr: { resolve: { conditions: ["sous-source"], externalConditions: ["sous-source"] } },
  test: {
    include: ["test/**/*.test.ts"],
    testTimeout: 20_000,
    globalSetup: fileURLToPath(new URL("setup.ts", import.meta.url)),
    hookTimeout: 60_000,
    pool: "forks",
    maxWorkers: 2,
  },
})
