// Runs the command line from its sources: `npx geohook` in a clone that is not built.
import { fileURLToPath } from 'node:url'
import { register } from 'tsx/esm/api'

// The tsconfig maps the internal imports of the package to the sources, in whatever folder the command runs.
register({ tsconfig: fileURLToPath(new URL('../tsconfig.json', import.meta.url)) })
await import('../src/cli/main.ts')
