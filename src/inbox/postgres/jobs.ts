import type { JobInsert } from 'pg-boss'
import type { InboxConfig } from '../options.ts'
import { type Envelope, fromEnvelope, toEnvelope } from '../stored.ts'
import type { Table } from '../table.ts'
import type { JobsPlace } from './boss.ts'
import { type Changed, changeJobs, type JobAttempt } from './changing.ts'
import { isId, readJobs } from './reading.ts'
import { createRoom } from './room.ts'

/** pg-boss counts the time that something is kept in seconds of 32 bits: sixty-eight years. What is kept how long is ours. */
const FOR_EVER = 2 ** 31 - 1

const toSeconds = (milliseconds: number): number => Math.ceil(milliseconds / 1_000)

/** What pg-boss has to know of a delivery: its id is the job's. */
function toJob(envelope: Envelope, { attempts, retryDelay, maxRetryDelay, lease }: InboxConfig): JobInsert {
  return {
    id: envelope.id,
    data: envelope,
    retryLimit: attempts - 1,
    // These count where a process ended during an attempt. After one that failed we say ourselves when the next is due.
    retryBackoff: true,
    retryDelay: toSeconds(retryDelay),
    retryDelayMax: toSeconds(maxRetryDelay),
    heartbeatSeconds: toSeconds(lease),
    expireInSeconds: FOR_EVER,
    retentionSeconds: FOR_EVER,
    deleteAfterSeconds: 0,
  }
}

/** The jobs of a queue of pg-boss, as the table of an inbox. Due times and ends are by the clock of the server. */
export function createJobTable(place: JobsPlace, config: InboxConfig): Table {
  const { connection, queue } = place
  const reading = readJobs(place)
  const changing = changeJobs(place, (envelope) => toJob(envelope, config))
  const room = createRoom(reading.countWaiting)
  /** Which attempt of which delivery is whose, so that an end counts for no other attempt. */
  const claims = new Map<string, number>()
  const keyOf = (owner: string, id: string) => `${owner} ${id}`

  async function complete(attempt: JobAttempt): Promise<boolean> {
    const ended = await connection.use((boss) => boss.complete(queue, attempt))
    return (ended as unknown as Changed).affected > 0
  }

  return {
    async put(delivery, { maxPending }) {
      const envelope = toEnvelope(delivery)
      // What PostgreSQL takes as JSON has neither a NUL nor half of a pair.
      const changeTypes = JSON.stringify(envelope.changeTypes) as never
      if (!(await room.take(maxPending))) return (await reading.has(delivery.id)) ? 'duplicate' : 'full'
      let isStored = false
      try {
        const job = toJob({ ...envelope, changeTypes }, config)
        isStored = (await connection.use((boss) => boss.insert(queue, [job], { returnId: true }))) !== null
        return isStored ? 'stored' : 'duplicate'
      } finally {
        room.end(isStored)
      }
    },

    async claim({ owner, limit }) {
      // Without our own limit of time: what the server gives late would be nobody's until its lease has run out.
      const boss = await connection.started()
      const jobs = await boss.fetch<Envelope>(queue, { batchSize: limit, includeMetadata: true })
      const claimed = jobs.map(({ data, retryCount, retryLimit }) => {
        claims.set(keyOf(owner, data.id), retryCount)
        return { delivery: fromEnvelope(data), attempt: retryCount + 1, attempts: retryLimit + 1 }
      })
      return { claimed }
    },

    async renew(owner, ids) {
      const jobs = ids.flatMap((id) => {
        const retryCount = claims.get(keyOf(owner, id))
        return retryCount === undefined ? [] : { id, retryCount }
      })
      if (jobs.length === 0) return []
      const { settled } = await connection.use(
        async (boss) => (await boss.touch(queue, jobs)) as unknown as Changed,
      )
      if (!settled) return [...ids]
      const kept = new Set(settled.map((id) => id.replaceAll('-', '')))
      for (const id of ids) if (!kept.has(id)) claims.delete(keyOf(owner, id))
      return ids.filter((id) => kept.has(id))
    },

    async settle(owner, id, end) {
      const retryCount = claims.get(keyOf(owner, id))
      if (retryCount === undefined) return false
      const attempt = { id, retryCount }
      const isSettled =
        end.state === 'done'
          ? await complete(attempt)
          : await changing.fail(attempt, end.error, end.state === 'dead' ? 0 : end.dueAt - Date.now())
      claims.delete(keyOf(owner, id))
      return isSettled
    },

    counts: reading.counts,
    list: reading.list,
    async get(id) {
      if (!isId(id)) return undefined
      return reading.get(id)
    },
    retry: async (id) => isId(id) && changing.retry(id),
    discard: async (id) => isId(id) && changing.discard(id),
    purge: (state, before, limit) => changing.purge(state, Date.now() - before, limit),
    close: () => connection.close(),
  }
}
