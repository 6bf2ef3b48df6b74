#!/usr/bin/env node
// Runs first, so that a key given as an option disappears from the process list as early as possible.
const [, , command = ''] = process.argv
process.title = /^[a-z]{1,10}$/.test(command) ? `geohook ${command}` : 'geohook'

for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    // The reader closed the pipe, as `head` does.
    if (error.code === 'EPIPE') process.exit()
    process.exitCode = 2
    if (stream === process.stdout) process.stderr.write(`error: cannot write the output: ${error.code}\n`)
  })
}

const { run, exitOnUnexpectedError } = await import('./program.ts')
process.on('uncaughtException', exitOnUnexpectedError)
process.exitCode = await run(process.argv)

export {}
