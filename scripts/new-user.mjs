// Acts as a new user with only the tarball: copies the commands and the code from the packed README, and expects what
// the README says. Measures the time from `npm install` to the first verified delivery. Needs a build (npm run build).

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { pack } from './pack.mjs'
import { run } from './run.mjs'

/** Reads the code blocks of a README, so that they can be found by their content. */
function readBlocks(path) {
  const text = readFileSync(path, 'utf8')
  const blocks = [...text.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(({ 1: language, 2: code, index }) => ({
    language,
    code,
    // The name in the paragraph before the block: "Save this as `receiver.js`:"
    file: /Save \w+ as `([^`]+)`[^`]*$/.exec(text.slice(Math.max(0, index - 200), index))?.[1],
  }))

  const used = new Set()

  /** Returns the first block of a language that contains all given texts. */
  function find(language, ...texts) {
    const found = blocks.find(
      (block) => block.language === language && texts.every((one) => block.code.includes(one)),
    )
    if (!found) throw new Error(`The README has no ${language} block with ${texts.join(' and ')}.`)
    used.add(found)
    return found
  }

  /** Returns the shell commands that `find` has not returned. */
  const unused = () =>
    blocks.filter((block) => block.language === 'sh' && !used.has(block)).map(({ code }) => code)

  /** Returns the commands in the text that start with a prefix. */
  const inline = (prefix) => [
    ...new Set(
      [...text.matchAll(/`([^`\n]+)`/g)].map(([, code]) => code).filter((code) => code.startsWith(prefix)),
    ),
  ]

  return { find, inline, unused }
}

/** Maximum milliseconds for a command, and for each wait. */
const LIMIT = 120_000

/** Environment of a new user: npm passes settings of this package to its scripts, which a user does not have. */
const ENVIRONMENT = Object.fromEntries(
  Object.entries(process.env).filter(
    ([name]) => !/^(npm_(?!config_(cache|registry|userconfig))|INIT_CWD|NODE_ENV|CI$)/.test(name),
  ),
)

/** Opens terminals in a folder, and stops everything in them at the end. */
function createTerminals(folder) {
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
async function findPort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  await once(server, 'close')
  return port
}

/** Resolves when a server listens on the port. */
async function listening(port) {
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

/** Seconds from `npm install` to the first verified delivery, with a warm npm cache, on a quiet machine. */
const GOAL = 5
/** Maximum number of rounds to reach the goal in, because other work on the machine delays some of them. */
const ROUNDS = 3
/** Fails above this multiple of the goal: slower machines miss the goal, but not by that much. */
const TOLERANCE = 4

const folder = mkdtempSync(join(tmpdir(), 'geohook-new-user-'))
const { tarball } = await pack(folder)
await run('tar', ['-xzf', tarball, '-C', folder])
const { find, inline, unused } = readBlocks(join(folder, 'package/README.md'))

const receiver = find('ts', 'createReceiver', "from 'geohook/express'", '.on(')
const sends = find('sh', 'geohook send', '--key wrong')
const [sendSigned, sendForged] = sends.code.trim().split('\n')

/** Prepares an empty folder. Ports of the README are replaced, because they may be in use on this machine. */
async function createUser(name) {
  const home = join(folder, name)
  mkdirSync(home)
  copyFileSync(tarball, join(home, basename(tarball)))
  const ports = new Map([
    [3000, await findPort()],
    [3001, await findPort()],
  ])
  const adapt = (text) =>
    text
      .replace(/\b300[01]\b/g, (port) => ports.get(Number(port)))
      .replace(
        /geohook (listen|mock|inbox ui)\b(?!.*--port)/g,
        (command) => `${command} --port ${ports.get(3000)}`,
      )
      .replace('npm install geohook', `npm install ./${basename(tarball)}`)
  const terminals = createTerminals(home)
  return {
    home,
    port: (port) => ports.get(port),
    save: ({ code, file }, name = file) => writeFileSync(join(home, name), adapt(code)),
    start: ({ code }) => terminals.start(adapt(code)),
    run: ({ code }, expected) => terminals.run(adapt(code), expected),
    leave: terminals.stopAll,
  }
}

/** Installs, starts the receiver, and sends it a signed delivery. Resolves with the seconds from `npm install` on. */
async function reachFirstDelivery(user) {
  const [prepare, install] = find('sh', 'npm install geohook').code.split(/(?=^npm install)/m)
  await user.run({ code: prepare })
  const started = performance.now()
  await user.run({ code: install })
  user.save(receiver)
  const server = user.start(find('sh', `node ${receiver.file}`))
  await listening(user.port(3000))
  await user.run({ code: sendSigned })
  await server.printed(/^created in Parcels/m)
  return { server, seconds: (performance.now() - started) / 1000 }
}

async function seeRefusal(user, server) {
  assert.match(await user.run({ code: sendForged }, 1), /401/)
  await server.printed(/signature_mismatch/)
}

async function explainRefusal(user) {
  const listen = user.start(find('sh', 'geohook listen', '--count'))
  await listening(user.port(3001))
  const [send, explain] = find('sh', 'geohook explain').code.trim().split('\n')
  await user.run({ code: send }, 1)
  await listen.closed
  const output = await user.run({ code: explain }, 1)
  for (const line of find('text', 'cause ').code.trim().split('\n'))
    assert(output.includes(line.trim()), output)
}

async function testHandlers(user) {
  user.save(find('ts', "from 'supertest'"))
  assert.match(await user.run(find('sh', 'npx vitest run')), /1 passed/)
}

async function handleFromInbox(user) {
  if (!isBuiltin('node:sqlite')) await installDriver(user)
  user.save(find('ts', 'createSqliteInbox'), 'inbox.js')
  const server = user.start({ code: 'export SIGNATURE_KEY=parcels2026\nnode inbox.js' })
  await listening(user.port(3000))
  assert.match(await user.run({ code: sendSigned }), /202/)
  await server.printed(/^handled [0-9a-f]{32} FeaturesCreated$/m)
  await server.stop()
}

/** Tries the commands in the text. Those that are servers must listen. */
async function tryOtherCommands(user) {
  for (const code of inline('npx geohook ')) {
    if (!/ (listen|mock|ui)\b/.test(code)) {
      await user.run({ code })
      continue
    }
    const server = user.start({ code })
    await listening(user.port(code.includes('--port 3001') ? 3001 : 3000))
    await server.stop()
  }
}

/**
 * Installs better-sqlite3 as the README says, but copies the binary that `npm run drivers` compiled, because compiling
 * takes a minute.
 */
async function installDriver(user) {
  const compiled = resolve('scripts/drivers/node_modules/better-sqlite3')
  const { version } = JSON.parse(readFileSync(join(compiled, 'package.json'), 'utf8'))
  await user.run({ code: `npm install --ignore-scripts better-sqlite3@${version}` })
  cpSync(join(compiled, 'build'), join(user.home, 'node_modules/better-sqlite3/build'), { recursive: true })
}

let user
try {
  const rounds = []
  let server
  for (let round = 0; round < ROUNDS && !(Math.min(...rounds) <= GOAL); round++) {
    await user?.leave()
    user = await createUser(`round-${round}`)
    const first = await reachFirstDelivery(user)
    server = first.server
    rounds.push(first.seconds)
  }
  const best = Math.min(...rounds)
  console.log(
    `${best <= GOAL ? 'ok  ' : 'slow'} from npm install to the first verified delivery: ${best.toFixed(1)} s (goal ${GOAL} s; rounds: ${rounds.map((one) => one.toFixed(1)).join(', ')})`,
  )
  await seeRefusal(user, server)
  console.log('ok   a forged delivery is refused, and the log says why')
  await server.stop()
  await explainRefusal(user)
  console.log('ok   geohook explain names the cause of a refused delivery')
  await testHandlers(user)
  console.log('ok   the test with supertest passes')
  await handleFromInbox(user)
  console.log('ok   a delivery from a SQLite inbox is handled')
  await tryOtherCommands(user)
  // .ci/bare-machine runs the commands for a clone.
  assert.deepEqual(
    unused().filter((code) => !code.startsWith('npm ci')),
    [],
    'These commands were not tried',
  )
  console.log('ok   all other commands in the README work')
  assert(
    best <= GOAL * TOLERANCE,
    `The first verified delivery took ${best.toFixed(1)} s; the goal is ${GOAL} s.`,
  )
} catch (error) {
  console.error(`FAIL ${error.message}`)
  process.exitCode = 1
} finally {
  await user?.leave()
  rmSync(folder, { recursive: true, force: true })
}
