// Prints the milliseconds to import a module in a new process.
import { writeSync } from 'node:fs'

const started = performance.now()
await import(process.argv[2])
writeSync(1, String(performance.now() - started))
process.exit()
