// Says how many milliseconds it takes to import a module, in a process that has loaded nothing else.
import { writeSync } from 'node:fs'

const started = performance.now()
await import(process.argv[2])
writeSync(1, String(performance.now() - started))
process.exit()
