// Prints the milliseconds to require a module in a new process.
const { writeSync } = require('node:fs')

const started = performance.now()
require(process.argv[2])
writeSync(1, String(performance.now() - started))
process.exit()
