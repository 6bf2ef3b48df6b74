import { readFileSync } from 'node:fs'

// Runs one command line after another, for `useCommandLine`: its answer to each is what a process would have printed.

const cli = new URL('../../dist/cli.js', import.meta.url)
const [, program] = /import\("(\.\/cli-program-[^"]+)"\)/.exec(readFileSync(cli, 'utf8')) ?? []
const { run } = await import(new URL(program, cli).href)

/** Keeps what is written to a stream; gives it, and puts the stream back. */
function capture(stream) {
  const { write } = stream
  let text = ''
  stream.write = (chunk, encoding, callback) => {
    text += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString()
    const done = callback ?? encoding
    if (typeof done === 'function') process.nextTick(done)
    return true
  }
  return () => {
    stream.write = write
    return text
  }
}

const own = process.env

async function answer({ id, args, env }) {
  process.env = { ...own, ...env }
  process.argv = [process.execPath, cli.pathname, ...args]
  process.exitCode = undefined
  const [stdout, stderr] = [capture(process.stdout), capture(process.stderr)]
  let code
  try {
    code = await run(process.argv)
  } finally {
    process.env = own
    process.exitCode = undefined
    process.send({ id, code, stdout: stdout(), stderr: stderr() })
  }
}

let last = Promise.resolve()
process.on('message', (request) => {
  last = last.then(() => answer(request))
})
// A server that could not start may have left handlers of signals.
process.on('disconnect', () => process.exit())
process.send('ready')
