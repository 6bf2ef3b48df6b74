// Says how many milliseconds it takes to require a module, in a process that has loaded nothing else.
const { writeSync } = require('node:fs')

const started = performance.now()
require(process.argv[2])
writeSync(1, String(performance.now() - started))
process.exit()
