#!/usr/bin/env node
// Sets the process title first. Until then, the process list shows a key that was given as an option.
const [, , command = ''] = process.argv
process.title = /^[a-z]{1,10}$/.test(command) ? `geohook ${command}` : 'geohook'

for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    // The program that reads the output, for example `head`, has closed the pipe.
    if (error.code === 'EPIPE') process.exit()
    process.exitCode = 2
    if (stream === process.stdout) process.stderr.write(`error: cannot write the output: ${error.code}\n`)
  })
}

const { run, exitOnUnexpectedError } = await import('./program.ts')
process.on('uncaughtException', exitOnUnexpectedError)
process.exitCode = await run(process.argv)

export {}
