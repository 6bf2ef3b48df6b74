import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text as readText } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'
import amqp from 'amqplib'
import { Queue } from 'bullmq'
import { KEY, signatureOf } from '../helpers/deliver.ts'
import { findPort } from '../helpers/port.ts'
import { createPrivateRedis, findRedis } from '../helpers/private-redis.ts'
import { type Started, startProgram } from '../helpers/process.ts'
import { RABBITMQ } from '../helpers/servers.ts'
import { createRandom, type Random } from '../inbox/crash/random.ts'
import { type Change, installed, writeRecipe } from './recipes.ts'

export interface QueueRun {
  recipe: keyof typeof BROKERS
  kills: number
  seed: number
}

export interface QueueVerdict {
  sent: number
  acknowledged: number
  /** Number of deliveries with a success. */
  handled: number
  /** Number of deliveries with more than one success. */
  doubled: number
  /** Number of calls of handlers whose process was killed meanwhile. */
  interrupted: number
  /** Number of acknowledged deliveries in the dead letters, without a success. */
  dead: number
  serverKills: number
  /** Numbers of the deliveries that were acknowledged, and neither handled nor moved to the dead letters. */
  lost: number[]
}

/** A queue for one run. */
interface Broker {
  packages: string[]
  changes: Change[]
  env: Record<string, string>
  /** The bodies of the dead letters. */
  dead(): Promise<string[]>
  /** Kills the server and starts it again, if it belongs to this run. */
  killServer?(): Promise<void>
  remove(): Promise<void>
}

const NAME = `geohook-crash-${process.pid}`
const bodyOf = (text: string): string => Buffer.from(JSON.parse(text).body, 'base64').toString()

/** Uses a server of its own, with the settings that the recipe requires: every command is synced to disk. */
async function createBullMq(): Promise<Broker> {
  const program = findRedis()
  if (!program) throw new Error('there is no redis-server on this machine')
  const redis = await createPrivateRedis(program)
  const settings = { 'maxmemory-policy': 'noeviction' }
  await redis.start(settings)
  const queue = new Queue(NAME, { connection: { url: redis.url } })
  queue.on('error', () => {})
  return {
    packages: ['bullmq'],
    // Otherwise the jobs of a killed process wait up to a minute.
    changes: [['concurrency: 10', 'concurrency: 10, lockDuration: 4_000, stalledInterval: 2_000']],
    env: { REDIS_URL: redis.url, QUEUE: NAME },
    dead: async () => (await queue.getFailed()).map(({ data }) => bodyOf(data)),
    async killServer() {
      await redis.crash()
      await redis.start(settings)
    },
    async remove() {
      await queue.close()
      await redis.remove()
    },
  }
}

async function createRabbitMq(): Promise<Broker> {
  const connection = await amqp.connect(RABBITMQ.url)
  const channel = await connection.createChannel()
  const dead: string[] = []
  return {
    packages: ['amqplib'],
    changes: [],
    env: { AMQP_URL: RABBITMQ.url, QUEUE: NAME },
    async dead() {
      for (;;) {
        const message = await channel.get(`${NAME}.dead`, { noAck: true })
        if (!message) return dead
        dead.push(bodyOf(`${message.content}`))
      }
    },
    async remove() {
      await channel.deleteQueue(NAME)
      await channel.deleteQueue(`${NAME}.dead`)
      await connection.close()
    },
  }
}

const BROKERS = { BullMQ: createBullMq, RabbitMQ: createRabbitMq }

/** Milliseconds between two deliveries. */
const GAP = 20
/** Maximum milliseconds to wait, at the end of a run, for the deliveries of killed processes. */
const DRAIN_TIMEOUT = 120_000
/** Number of kills between two kills of the server. */
const SERVER_KILL_INTERVAL = 10

/** Repeatedly kills the process of a recipe under load, and compares what was acknowledged with what was handled. */
export async function runQueueCrashes({ recipe, kills, seed }: QueueRun): Promise<QueueVerdict> {
  const random = createRandom(seed)
  const broker = await BROKERS[recipe]()
  const folder = writeRecipe(recipe, installed(...broker.packages), broker.changes)
  const sync = await startCounter(random)
  const port = await findPort()
  const load = startLoad(`http://127.0.0.1:${port}/hook`)
  let serverKills = 0
  let app: Started | undefined

  const start = (): Started => {
    const env = { ...broker.env, SIGNATURE_KEY: KEY, SYNC_URL: sync.url, PORT: `${port}` }
    app = startProgram(process.execPath, ['recipe.js'], env, { cwd: folder })
    return app
  }

  try {
    for (let count = 1; count <= kills; count++) {
      const started = start()
      await Promise.race([moment(random, { load, sync }), started.exited])
      if (started.child.exitCode !== null) throw new Error(`the recipe exited by itself:\n${started.output}`)
      await started.stop('SIGKILL')
      if (count % SERVER_KILL_INTERVAL || !broker.killServer) continue
      await broker.killServer()
      serverKills++
    }
    start()
    await Promise.race([once(load, 'acknowledged'), setTimeout(60_000)])
    await load.stop()
    const { acknowledged } = load
    const isHandled = (number: number): boolean => (sync.successes.get(number) ?? 0) > 0
    let missing = [...acknowledged]
    let dead: number[] = []
    for (const until = Date.now() + DRAIN_TIMEOUT; missing.length > 0 && Date.now() < until; ) {
      await setTimeout(500)
      const letters = new Set((await broker.dead()).map((body) => numberOf(JSON.parse(body).changesUrl)))
      dead = [...acknowledged].filter((number) => !isHandled(number) && letters.has(number))
      missing = [...acknowledged].filter((number) => !isHandled(number) && !letters.has(number))
    }
    return {
      sent: load.sent,
      acknowledged: acknowledged.size,
      handled: sync.successes.size,
      doubled: [...sync.successes.values()].filter((count) => count > 1).length,
      interrupted: sync.interrupted,
      dead: dead.length,
      serverKills,
      lost: missing,
    }
  } finally {
    await load.stop()
    await app?.stop('SIGKILL')
    sync.close()
    await broker.remove()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Formats the figures of a run in one line. */
export const toLine = ({ recipe, kills, seed }: QueueRun, { lost, ...verdict }: QueueVerdict): string => {
  const figures = { seed, kills, ...verdict, lost: lost.length }
  return `${recipe}: ${Object.entries(figures)
    .map(([name, figure]) => `${name} ${figure}`)
    .join(', ')}`
}

type Load = EventTarget & { sent: number; acknowledged: Set<number>; stop(): Promise<void> }
type Counter = Awaited<ReturnType<typeof startCounter>>

/** Resolves when it is time to kill the process: soon after its start, after some responses, or within a handler. */
async function moment(random: Random, { load, sync }: { load: Load; sync: Counter }): Promise<void> {
  const kind = random.between(0, 3)
  const left = random.between(1, 50)
  const late = random.between(0, 15)
  if (kind === 0) return void (await setTimeout(random.between(0, 1_500)))
  const begun = kind === 1 ? load.acknowledged.size : sync.calls.count
  const reached = (): number => (kind === 1 ? load.acknowledged.size : sync.calls.count) - begun
  for (const until = Date.now() + 20_000; reached() < left && Date.now() < until; ) await setTimeout(1)
  await setTimeout(late)
}

const urlOf = (number: number): string =>
  `https://gis.example.com/rest/services/Parcels/FeatureServer/extractChanges?serverGens=[${number},${number + 1}]`

const numberOf = (changesUrl: string): number => Number(/\[(\d+),/.exec(decodeURIComponent(changesUrl))?.[1])

/** Sends deliveries at a fixed rate, each up to three times. */
function startLoad(url: string): Load {
  const run = `${Date.now()}`
  const sending = new Set<Promise<void>>()
  const load = Object.assign(new EventTarget(), {
    sent: 0,
    acknowledged: new Set<number>(),
    async stop() {
      clearInterval(timer)
      await Promise.all(sending)
    },
  })
  async function send(number: number): Promise<void> {
    const events = [{ eventType: 'FeaturesEdited', when: 1730385704000 }]
    const body = JSON.stringify({ serviceName: 'Parcels', run, changesUrl: urlOf(number), events })
    const headers = { 'content-type': 'application/json', 'x-service': signatureOf(body) }
    for (let attempt = 1; attempt <= 3; attempt++) {
      const options = { method: 'POST', headers, body, signal: AbortSignal.timeout(10_000) }
      const response = await fetch(url, options).catch(() => undefined)
      if (response?.ok) {
        load.acknowledged.add(number)
        load.dispatchEvent(new Event('acknowledged'))
        return
      }
      await setTimeout(300)
    }
  }
  const timer = setInterval(() => {
    if (sending.size >= 50) return
    const one = send(load.sent++).finally(() => sending.delete(one))
    sending.add(one)
  }, GAP)
  return load
}

/** The system behind the handlers. It counts the successes of each delivery. */
async function startCounter(random: Random) {
  const successes = new Map<number, number>()
  const calls = { count: 0 }
  let interrupted = 0
  const server = createServer(async (request, response) => {
    const { changesUrl } = JSON.parse(await readText(request))
    calls.count++
    await setTimeout(random.between(0, 25))
    if (request.socket.destroyed) {
      interrupted++
      return
    }
    const number = numberOf(changesUrl)
    successes.set(number, (successes.get(number) ?? 0) + 1)
    response.end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    successes,
    calls,
    get interrupted() {
      return interrupted
    },
    close: () => void server.close(),
  }
}
