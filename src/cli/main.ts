#!/usr/bin/env node
// Sets the process title first. Until then, the process list shows a key that was given as an option.
const [, , command = ''] = process.argv
process.title = /^[a-z]{1,10}$/.test(command) ? `geohook ${command}` : 'geohook'
// Hides warnings about the store: only the process that receives deliveries needs them.
if (command === 'inbox' || command === 'doctor') process.removeAllListeners('warning')

for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    // The program that reads the output, for example `head`, has closed the pipe.
    if (error.code === 'EPIPE') process.exit()
    process.exitCode = 2
    if (stream === process.stdout) process.stderr.write(`error: cannot write the output: ${error.code}\n`)
  })
}

const { fail, Io, onStopSignal, run } = await import('./run.ts')
const io = new Io({
  stdout: process.stdout,
  stderr: process.stderr,
  env: process.env,
  get stdin() {
    return process.stdin
  },
  /** Only servers read it. Until then, Ctrl-C ends the process at once, even while it computes. */
  get signal() {
    const controller = new AbortController()
    onStopSignal(() => controller.abort())
    return controller.signal
  },
})
process.on('uncaughtException', (error) => process.exit(fail(io, error)))
const exitCode = await run(process.argv.slice(2), io)
process.exitCode ??= exitCode

export {}
