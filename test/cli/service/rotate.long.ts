import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import {
  type Clock,
  createMockService,
  type MockService,
  type MockServiceOptions,
  type ProductOptions,
} from 'geohook/mock'
import { expect, it, vi } from 'vitest'
import { CLEAN_ENV } from '../../helpers/cli.ts'
import { createFolder } from '../../helpers/folder.ts'
import { findNginx, nginxConfig, startNginx } from '../../helpers/nginx.ts'
import { findPort } from '../../helpers/port.ts'
import { type Started, startNode } from '../../helpers/process.ts'
import { describeWith } from '../../helpers/services.ts'
import { createRandom, type Random, toSeed } from '../../inbox/crash/random.ts'

/** To repeat a failure: `SEED=… npx vitest run --project long test/cli/service/rotate.long.ts`. */
const SEED = toSeed(process.env.SEED)
/** Simulated milliseconds in one real millisecond. An hour is 2 s, longer than a receiver accepts a removed key. */
const SPEED = 1_800
const HOUR = 3_600_000
/** Real milliseconds between two events. */
const INTERVAL = 15
const EVENTS = 2_000
/** Maximum number of times that one rotation is started or continued. */
const MAX_RUNS = 10
const MAX_ROTATIONS = 24
const RECEIVER = fileURLToPath(new URL('rotate-receiver.mjs', import.meta.url))
const TOKEN = 'stats-of-the-receivers'
const EXIT_PENDING = 4

/** States of a rotation, in this order. */
const STATES = ['add', 'settle', 'switch', 'prove', 'drain', 'remove'] as const
type State = (typeof STATES)[number]

interface Sender {
  product: 'enterprise' | 'online'
  like?: Omit<ProductOptions, 'product'>
  settings?: MockServiceOptions['settings']
  /** True if the receivers answer 503 to the first attempts of some deliveries. */
  hasFaults?: boolean
  /** True if the payload URL ends with the id of the key. */
  hasKeyInPath?: boolean
}

// The longest gap between attempts that the settings allow: the third attempt is two hours after the first.
const RETRIES = { settings: { notificationElapsedTimeInSeconds: 3_600 }, hasFaults: true }
const ENTERPRISE: Sender = { product: 'enterprise', ...RETRIES }
const ONLINE: Sender = { product: 'online', like: { handshake: 60_000 } }

const SENDERS: Record<string, Sender> = {
  'retries and 503 faults': ENTERPRISE,
  'retries that are signed again, and 503 faults': { ...ENTERPRISE, like: { retries: 'signed-again' } },
  'one attempt, and a handshake every minute': { ...ONLINE, hasKeyInPath: true },
}

/** A clock that runs faster than the real time. */
function createFastClock(): Clock {
  const [start, startedAt] = [Date.now(), performance.now()]
  return {
    now: () => start + Math.round((performance.now() - startedAt) * SPEED),
    wait: (milliseconds, signal) =>
      setTimeout(milliseconds / SPEED, undefined, signal && { signal }).catch(() => signal?.throwIfAborted()),
  }
}

interface Key {
  id: string
  key: string
}

let keys = 0
const createKey = (): Key => ({ id: `key-${++keys}`, key: randomBytes(32).toString('hex') })

/** What a rotation must not cause. */
interface Damage {
  /** Requests that a receiver refused, by their codes. */
  refused: Record<string, number>
  /** Number of events that no receiver stored. */
  lost: number
  /** Number of events that the service did not send after a failed handshake. */
  notSent: number
  /** Reasons of the failed handshakes. */
  failedHandshakes: string[]
}

const NONE: Damage = { refused: {}, lost: 0, notSent: 0, failedHandshakes: [] }

interface Rig {
  mock: MockService
  clock: Clock
  /** Path of the keyring file. */
  keyring: string
  /** Arguments of a new rotation, in addition to the options. */
  target: readonly string[]
  options: readonly string[]
  /** Number of events so far. */
  readonly events: number
  /** Resolves after this number of further events. */
  more(count: number): Promise<void>
  /** Replaces the keyring file. */
  writeKeys(keys: readonly Key[]): void
  /** Resolves when each receiver has the keys of the file. */
  untilRead(): Promise<void>
  /** Returns the process id of a receiver. A receiver that is killed is started again. */
  pidOf(index: number): number | undefined
}

/**
 * Runs two receivers behind nginx, and a mock service that sends them one event after another.
 *
 * @param use called with the first key; the events end when its promise is settled
 */
async function withReceivers(
  nginx: string,
  { product, like, settings, hasFaults = false, hasKeyInPath = false }: Sender,
  use: (rig: Rig, key: Key) => Promise<void>,
): Promise<Damage> {
  const folder = createFolder()
  const closers: (() => Promise<unknown>)[] = [folder.remove]
  try {
    const [keyring, log] = [folder.fileIn('keys.json'), folder.fileIn('log')]
    const [faults, tokenFile] = [folder.fileIn('faults'), folder.fileIn('token.txt')]
    mkdirSync(faults)
    writeFileSync(log, '')
    writeFileSync(tokenFile, TOKEN, { mode: 0o600 })
    const key = createKey()
    const writeKeys = (keys: readonly Key[]): void => {
      writeFileSync(`${keyring}.new`, JSON.stringify({ keys }), { mode: 0o600 })
      renameSync(`${keyring}.new`, keyring)
    }
    writeKeys([key])

    const ports = [await findPort(), await findPort()]
    const receivers: Started[] = []
    let isClosing = false
    closers.push(() => {
      isClosing = true
      return Promise.all(receivers.map((receiver) => receiver.stop('SIGKILL')))
    })
    /** Starts a receiver, and starts it again after a kill. */
    const start = (index: number): Started => {
      const env = { KEYRING: keyring, LOG: log, TOKEN, FAULTS: hasFaults ? faults : '' }
      const receiver = startNode([RECEIVER], { ...env, PORT: String(ports[index]) }, { stdin: 'open' })
      receivers[index] = receiver
      receiver.exited.then(() => {
        if (receiver.child.signalCode === 'SIGKILL' && !isClosing) start(index)
      })
      return receiver
    }
    await Promise.all(ports.map((_, index) => start(index).printed(/listening/)))

    // A receiver that is killed must not lose a delivery, even if the service makes one attempt.
    const upstream = ports.map((port) => `server 127.0.0.1:${port} max_fails=0;`).join(' ')
    const location = 'proxy_pass http://receivers; proxy_next_upstream error timeout non_idempotent;'
    const proxy = await startNginx(nginx, '', (port) =>
      nginxConfig(
        port,
        `location /hooks/parcels { ${location} } location = /stats { ${location} }`,
        `upstream receivers { ${upstream} }`,
      ),
    )
    closers.push(proxy.close)

    const clock = createFastClock()
    const hookUrl = `${proxy.url}/hooks/parcels${hasKeyInPath ? `/${key.id}` : ''}`
    const webhook = {
      serviceName: 'Parcels',
      serviceType: 'FeatureServer' as const,
      id: 'edits',
      name: 'edits',
      active: true,
      changeTypes: ['*'],
      hookUrl,
      signatureKey: key.key,
    }
    const mock = createMockService({
      like: { product, window: false, ...like },
      clock,
      webhooks: [webhook],
      ...(settings && { settings }),
    })
    closers.push(mock.close)
    let notSent = 0
    const failedHandshakes: string[] = []
    mock.on((notice) => {
      if (notice.type === 'not_sent') notSent += notice.events
      if (notice.type === 'handshake' && !notice.ok) failedHandshakes.push(notice.reason ?? '')
    })
    await mock.listen()

    // The time of an event identifies it.
    const first = clock.now()
    const deliveries: Promise<unknown>[] = []
    const ending = new AbortController()
    const sendAll = async (): Promise<void> => {
      while (!ending.signal.aborted) {
        const when = first + deliveries.length
        deliveries.push(mock.trigger({ serviceName: 'Parcels', changeType: 'FeaturesCreated', when }))
        await setTimeout(INTERVAL)
      }
      await Promise.all(deliveries)
    }
    const sending = sendAll()
    const rig: Rig = {
      mock,
      clock,
      keyring,
      target: ['Parcels.FeatureServer', 'edits'],
      options: [
        ...['--url', mock.url, '--product', product, '--keyring', keyring, '--wait', '3h'],
        ...['--health', `${proxy.url}/stats`, '--health-token-file', tokenFile, '--receivers', '2'],
      ],
      get events() {
        return deliveries.length
      },
      async more(count) {
        const goal = deliveries.length + count
        await vi.waitUntil(() => deliveries.length >= goal, { timeout: 60_000, interval: INTERVAL })
      },
      writeKeys,
      async untilRead() {
        const expected = readKeys(keyring).map(({ id }) => id)
        for (const port of ports) {
          await vi.waitFor(async () => expect(await readIds(port)).toEqual(expected), { timeout: 60_000 })
        }
      },
      pidOf: (index) => receivers[index]?.child.pid,
    }
    await use(rig, key).finally(() => ending.abort())
    await sending

    const lines = readFileSync(log, 'utf8').split('\n')
    const stored = new Set(lines)
    const refused: Record<string, number> = {}
    for (const line of lines) {
      const [, code] = /^refused (\w+)$/.exec(line) ?? []
      if (code) refused[code] = (refused[code] ?? 0) + 1
    }
    const lost = deliveries.filter((_, index) => !stored.has(`stored ${first + index}`)).length
    return { refused, lost, notSent, failedHandshakes: [...failedHandshakes] }
  } finally {
    for (const close of closers.reverse()) await close()
  }
}

const readKeys = (path: string): Key[] => JSON.parse(readFileSync(path, 'utf8')).keys

/** Reads the ids of a receiver's keys. */
async function readIds(port: number | undefined): Promise<string[]> {
  const headers = { authorization: `Bearer ${TOKEN}` }
  const response = await fetch(`http://127.0.0.1:${port}/stats`, { headers })
  return ((await response.json()) as { keys: Key[] }).keys.map(({ id }) => id)
}

const KILLED = 'killed a process'

/**
 * Runs the command in a process of its own, with the pace of the simulated time. When the journal shows a state, kills a
 * process, or itself. Some states last a few milliseconds, in which no other process would notice them in time.
 */
const SCRIPT = `
  import { readFileSync } from 'node:fs'
  import { Readable } from 'node:stream'
  import { runCli } from ${JSON.stringify(new URL('../../../dist/cli-run.js', import.meta.url).href)}
  const { argv, env, pid, stdout, stderr } = process
  const { JOURNAL, KILL_IN, KILL_PID = pid } = env
  const look = () => {
    try {
      if (JSON.parse(readFileSync(JOURNAL, 'utf8')).state !== KILL_IN) return
    } catch {
      return // not there yet
    }
    clearInterval(timer)
    stdout.write('${KILLED}')
    process.kill(Number(KILL_PID), 'SIGKILL')
  }
  const timer = KILL_IN && setInterval(look, 1)
  const { signal } = new AbortController()
  const host = { stdin: Readable.from([]), stdout, stderr, env, signal, pace: ${1 / SPEED} }
  process.exitCode = await runCli(argv.slice(1), host)
  clearInterval(timer)
`

interface Kill {
  state: State
  victim: 'command' | 'receiver'
  /** True to go back after the kill. */
  isBack?: true
}

interface Run {
  code: number | null
  output: string
  hasKilled: boolean
}

/** Starts or continues a rotation, with at most one kill: of the command, or of the receiver with this index. */
async function run(rig: Rig, args: readonly string[], kill: Kill | undefined, index: number): Promise<Run> {
  const pid = rig.pidOf(index)
  const isReceiver = kill?.victim === 'receiver'
  const command = startNode(['--input-type=module', '-e', SCRIPT, '--', 'rotate', ...args, ...rig.options], {
    ...CLEAN_ENV,
    ...(kill && { JOURNAL: journalOf(rig), KILL_IN: kill.state }),
    ...(isReceiver && { KILL_PID: String(pid) }),
  })
  const code = await command.exited
  const hasKilled = command.stdout.includes(KILLED)
  if (hasKilled && isReceiver) await vi.waitUntil(() => rig.pidOf(index) !== pid, { timeout: 60_000 })
  return { code, output: command.output, hasKilled }
}

/** Rotates the key until each kill has happened, each in a rotation of its own. */
async function rotateOften(rig: Rig, random: Random): Promise<void> {
  const kills: Kill[] = [
    ...STATES.flatMap((state): Kill[] => [
      { state, victim: 'command' },
      { state, victim: 'receiver' },
    ]),
    { state: 'switch', victim: 'command', isBack: true },
    { state: 'drain', victim: 'command', isBack: true },
  ]
  for (let rotations = 0; kills.length > 0 || rig.events < EVENTS; rotations++) {
    // A state can be over before the kill. Then the next rotation tries again.
    expect(rotations, `rotations, with ${JSON.stringify(kills)} left`).toBeLessThan(MAX_ROTATIONS)
    const [old] = readKeys(rig.keyring)
    let args = rig.target
    let [kill] = kills
    let isBack = false
    let last: Run | undefined
    for (let runs = 0; runs < MAX_RUNS && (!last || isOpen(last)); runs++) {
      last = await run(rig, args, kill, random.between(0, 1))
      args = ['--continue']
      if (!last.hasKilled) continue
      isBack = kill?.isBack === true
      if (isBack) args = ['--back']
      kills.shift()
      kill = undefined
    }
    expect(last?.code, last?.output).toBe(0)
    expect(existsSync(journalOf(rig))).toBe(false)
    const left = readKeys(rig.keyring)
    expect(left.map(({ key }) => key)).toEqual(rig.mock.list().map(({ signatureKey }) => signatureKey))
    expect(left[0]?.id === old?.id).toBe(isBack)
  }
}

const journalOf = ({ keyring }: Rig): string => `${keyring}.rotation`

/** True if the command was killed, or has waited for the maximum time. */
const isOpen = ({ code }: Run): boolean => code === null || code === EXIT_PENDING

await describeWith({ name: 'nginx', url: findNginx() ?? '' }, (nginx) => {
  // The controls: mistakes that the tests of the command must notice.

  it.concurrent('notices refusals if the webhook gets a key before the keyring', async () => {
    const damage = await withReceivers(nginx, ENTERPRISE, async ({ mock, writeKeys, more }, old) => {
      await more(20)
      const key = createKey()
      await mock.edit('edits', { signatureKey: key.key })
      await more(20)
      writeKeys([key, old])
      await more(20)
    })
    expect(damage.refused.signature_mismatch).toBeGreaterThan(0)
  })

  it.concurrent('notices refused retries if the old key is removed right after the edit', async () => {
    const damage = await withReceivers(
      nginx,
      ENTERPRISE,
      async ({ mock, writeKeys, untilRead, more }, old) => {
        await more(20)
        const key = createKey()
        writeKeys([old, key])
        await untilRead()
        await mock.edit('edits', { signatureKey: key.key })
        writeKeys([key])
        await more(20)
      },
    )
    expect(damage.refused.signature_mismatch).toBeGreaterThan(0)
    expect(damage.lost).toBeGreaterThan(0)
  })

  it.concurrent('notices failed handshakes if the new key is the first an hour before the edit', async () => {
    const damage = await withReceivers(nginx, ONLINE, async ({ mock, clock, writeKeys, more }, old) => {
      await more(20)
      const key = createKey()
      writeKeys([key, old])
      await clock.wait(HOUR)
      await mock.edit('edits', { signatureKey: key.key })
      await more(20)
    })
    expect(damage.failedHandshakes).toContain('the signature is wrong')
    expect(damage.notSent).toBeGreaterThan(0)
  })

  for (const [name, sender] of Object.entries(SENDERS)) {
    const title = `refuses and loses nothing while keys are rotated and processes are killed: ${name}`
    it.concurrent(`${title} (SEED=${SEED})`, async () => {
      const damage = await withReceivers(nginx, sender, async (rig) => {
        await rig.more(20)
        await rotateOften(rig, createRandom(SEED))
      })
      expect(damage).toEqual(NONE)
    })
  }
})
