import { readFileSync } from 'node:fs'

// Child process of `useGeohook`: runs command lines one after another, and sends back their exit codes and output.

const cli = new URL('../../dist/cli.js', import.meta.url)
const [, program] = /import\("(\.\/cli-program-[^"]+)"\)/.exec(readFileSync(cli, 'utf8')) ?? []
const { run } = await import(new URL(program, cli).href)

/** Buffers the output of a stream. The returned function restores the stream and returns the text. */
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

const originalEnv = process.env

async function handle({ id, args, env }) {
  process.env = { ...originalEnv, ...env }
  process.argv = [process.execPath, cli.pathname, ...args]
  process.exitCode = undefined
  const [stdout, stderr] = [capture(process.stdout), capture(process.stderr)]
  let code
  try {
    code = await run(process.argv)
  } finally {
    process.env = originalEnv
    process.exitCode = undefined
    process.send({ id, code, stdout: stdout(), stderr: stderr() })
  }
}

let last = Promise.resolve()
process.on('message', (request) => {
  last = last.then(() => handle(request))
})
// Exits explicitly, because resources that a command has left open could keep the process alive.
process.on('disconnect', () => process.exit())
process.send('ready')
