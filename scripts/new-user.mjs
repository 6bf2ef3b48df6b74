// Acts as a new user with only the tarball: copies the commands and the code from the packed README, and expects what
// the README says. Measures the time from `npm install` to the first verified delivery. Needs a build (npm run build).
import assert from 'node:assert/strict'
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { readBlocks } from './new-user/readme.mjs'
import { createTerminals, findPort, listening } from './new-user/terminal.mjs'
import { run } from './package/run.mjs'
import { pack } from './package/tarball.mjs'

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
  const compiled = resolve('drivers/node_modules/better-sqlite3')
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
