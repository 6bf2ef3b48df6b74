import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { createReceiver } from 'geohook'
import type { DurableInbox, InboxEntry } from 'geohook/inbox'
import { expect } from 'vitest'
import { uniquePayload } from '../contract/inbox/fixture.ts'
import { deliver, KEY } from '../helpers/deliver.ts'
import { createFolder } from '../helpers/folder.ts'
import { startNode } from '../helpers/process.ts'
import { createRandom } from './crash/random.ts'

/** A store for one run. */
export interface PoisonStore {
  entry: string
  factory: string
  options: Record<string, unknown>
  /** The inbox in the test process, which only puts and lists deliveries. */
  inbox: DurableInbox
  remove(): Promise<void>
}

export interface PoisonRun {
  attempts: number
  /** Change type of each delivery. `apps/poison.mjs` defines the handlers. */
  deliveries: readonly string[]
  /** Shuffles the deliveries. Without it, they are stored in the given order. */
  seed?: number
  /** Maximum number of deliveries that the worker takes together. */
  concurrency: number
}

const APP = fileURLToPath(new URL('./apps/poison.mjs', import.meta.url))
const isPoison = (changeType = ''): boolean => changeType.startsWith('Poison')

export const times = (number: number, changeType: string): string[] => Array(number).fill(changeType)

/**
 * Restarts a worker process until all deliveries are done or dead. Asserts that only poison deliveries are dead.
 *
 * @param onExit called after each exit of the worker
 */
export async function expectOnlyPoisonDead(
  store: PoisonStore,
  run: PoisonRun,
  onExit: (life: number) => Promise<void> = async () => {},
): Promise<void> {
  const { deliveries, seed } = run
  const folder = createFolder()
  const log = folder.fileIn('begun')
  const { inbox } = store
  try {
    await send(inbox, seed === undefined ? deliveries : shuffle(deliveries, seed))
    await superviseUntilDone(store, log, run, onExit)
    const { entries } = await inbox.list({ limit: 1_000 })
    const ids = readFileSync(log, 'utf8').split('\n')
    const begunOf = (id: string): number => ids.filter((begunId) => begunId === id).length
    expectResults(entries, run, begunOf)
  } finally {
    await inbox.close()
    await store.remove()
    await folder.remove()
  }
}

async function send(inbox: DurableInbox, changeTypes: readonly string[]): Promise<void> {
  const receiver = createReceiver({ signatureKey: KEY, inbox })
  for (const changeType of changeTypes)
    expect((await deliver(receiver, uniquePayload(changeType))).status).toBe(202)
}

function shuffle(list: readonly string[], seed: number): string[] {
  const random = createRandom(seed)
  return list
    .map((item) => ({ item, at: random.next() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item)
}

async function superviseUntilDone(
  store: PoisonStore,
  log: string,
  { attempts, deliveries, concurrency }: PoisonRun,
  onExit: (life: number) => Promise<void>,
): Promise<void> {
  const { inbox, entry, factory, options } = store
  // The first attempt of a poison delivery, together with others, does not count.
  const maxLives = (1 + attempts) * deliveries.filter(isPoison).length
  for (let life = 0; life <= maxLives; life++) {
    const env = {
      ENTRY: entry,
      FACTORY: factory,
      OPTIONS: JSON.stringify(options),
      CONCURRENCY: String(concurrency),
      LOG: log,
    }
    const worker = startNode([APP], env)
    const { child } = worker
    while (child.exitCode === null && child.signalCode === null) {
      const { waiting, active } = await inbox.stats()
      if (waiting + active === 0) return void (await worker.stop('SIGKILL'))
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    if (child.exitCode !== 0) throw new Error(worker.output)
    await onExit(life)
  }
  throw new Error(`the worker was ended more than ${maxLives} times`)
}

function expectResults(
  entries: readonly InboxEntry[],
  { deliveries, attempts }: PoisonRun,
  begunOf: (id: string) => number,
): void {
  const poisons = deliveries.filter(isPoison)
  // A handler may exit the process after a worker took another delivery alone, and before its handler begins.
  const slack = poisons.includes('PoisonLater') ? poisons.length : 0
  const dead = entries.filter(({ state }) => state === 'dead')
  expect(dead.map(({ changeTypes }) => changeTypes[0]).sort()).toEqual(poisons.sort())
  expect(entries.filter(({ state }) => state === 'done')).toHaveLength(deliveries.length - poisons.length)
  for (const entry of entries) {
    // The first attempt does not count if it was interrupted together with others.
    expect(begunOf(entry.id)).toBeLessThanOrEqual(entry.attempts + 1)
    expect(begunOf(entry.id)).toBeGreaterThanOrEqual(entry.attempts - slack)
    if (entry.state === 'dead') expect(entry.attempts).toBe(attempts)
    // An innocent delivery is taken alone once it was interrupted, and each other poison delivery interrupts it at most
    // once more: later, that one is taken alone, too.
    else expect(entry.attempts).toBeLessThanOrEqual(poisons.length)
  }
}
