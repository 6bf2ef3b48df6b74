import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { setTimeout } from 'node:timers/promises'

/** Maximum milliseconds for a command, and for each wait. */
const LIMIT = 120_000

/** Environment of a new user: npm passes settings of this package to its scripts, which a user does not have. */
const ENVIRONMENT = Object.fromEntries(
  Object.entries(process.env).filter(
    ([name]) => !/^(npm_(?!config_(cache|registry|userconfig))|INIT_CWD|NODE_ENV|CI$)/.test(name),
  ),
)

/** Opens terminals in a folder, and stops everything in them at the end. */
export function createTerminals(folder) {
  const open = new Set()

  /** Starts shell commands. They have their own process group, so that stop() also ends their child processes. */
  function start(commands) {
    const child = spawn('sh', ['-e', '-c', commands], {
      cwd: folder,
      env: ENVIRONMENT,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const terminal = {
      output: '',
      closed: once(child, 'close').then(([code]) => {
        open.delete(terminal)
        return code
      }),
      /** Resolves when the output matches. */
      async printed(pattern) {
        const deadline = Date.now() + LIMIT
        while (!pattern.test(terminal.output)) {
          const ended = !open.has(terminal) || Date.now() > deadline
          if (ended) throw new Error(`${commands}\ndid not print ${pattern}, but:\n${terminal.output}`)
          await setTimeout(20)
        }
      },
      async stop() {
        if (!open.has(terminal)) return
        process.kill(-child.pid, 'SIGTERM')
        await terminal.closed
      },
    }
    open.add(terminal)
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text) => {
        terminal.output += text
      })
    return terminal
  }

  return {
    start,
    /** Runs shell commands. Resolves with their output; the exit code must be `expected`. */
    async run(commands, expected = 0) {
      const terminal = start(commands)
      const timer = AbortSignal.timeout(LIMIT)
      timer.addEventListener('abort', () => void terminal.stop())
      const code = await terminal.closed
      if (code !== expected)
        throw new Error(`${commands}\nexited with ${code}, not ${expected}:\n${terminal.output}`)
      return terminal.output
    },
    async stopAll() {
      await Promise.all([...open].map((terminal) => terminal.stop()))
    },
  }
}

/** Resolves with a free port. */
export async function findPort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  await once(server, 'close')
  return port
}

/** Resolves when a server listens on the port. */
export async function listening(port) {
  const deadline = Date.now() + LIMIT
  while (Date.now() < deadline) {
    const socket = connect(port, '127.0.0.1')
    const connected = await once(socket, 'connect').then(
      () => true,
      () => false,
    )
    socket.destroy()
    if (connected) return
    await setTimeout(20)
  }
  throw new Error(`Nothing listens on port ${port}.`)
}
