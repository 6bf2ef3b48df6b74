#!/usr/bin/env node
// Before anything else, so that a key given as an option is not in the list of processes for longer than it must.
const [, , command = ''] = process.argv
process.title = /^[a-z]{1,10}$/.test(command) ? `geohook ${command}` : 'geohook'

for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    // Whoever read the output has gone, as `head` does.
    if (error.code === 'EPIPE') process.exit()
    process.exitCode = 2
    if (stream === process.stdout) process.stderr.write(`error: cannot write the output: ${error.code}\n`)
  })
}

const { run, tellUnexpected } = await import('./program.ts')
process.on('uncaughtException', tellUnexpected)
process.exitCode = await run(process.argv)

export {}
