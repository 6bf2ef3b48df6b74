import type { DurableInbox } from 'geohook/inbox'
import { describe, expect, it } from 'vitest'
import { until } from '../../contract/inbox/fixture.ts'
import { blockEventLoop } from '../../helpers/block.ts'
import { createGate } from '../../helpers/gate.ts'
import { groupHandler } from '../../helpers/receiver-port.ts'
import { describeWith, REDIS } from '../../helpers/services.ts'
import { editOf } from '../deliveries.ts'
import { usePrefix } from './fixture.ts'

const LOST = 'another process has taken the delivery over'

await describeWith(REDIS, (url) => {
  const { client, keyOf, openRecorded, takeOver, expireLeases } = usePrefix(url)

  interface Call {
    ids: string[]
    signal: AbortSignal
  }

  /** Starts workers that gather groups. Returns their calls. */
  function gather(inbox: DurableInbox, wait: number, handler: (call: Call) => unknown = () => {}) {
    const calls: Call[] = []
    const receiver = groupHandler(async (stored, context) => {
      const { signal } = context as { signal: AbortSignal }
      const call = { ids: stored.map(({ id }) => id).sort(), signal }
      calls.push(call)
      await handler(call)
      return stored.map(() => 'handled' as const)
    })
    const workers = inbox.work(receiver, { coalesce: { by: 'service', wait } })
    return { calls, workers }
  }

  async function putEdits(inbox: DurableInbox, count: number): Promise<string[]> {
    const edits = Array.from({ length: count }, () => editOf())
    for (const edit of edits) await inbox.put(edit)
    return edits.map(({ id }) => id)
  }

  /** When the worker took a delivery, in milliseconds since 1970. */
  const takenAtOf = async (id: string) => Number(await client.hget(keyOf(id), 'processedOn'))

  const isActive = (inbox: DurableInbox, count: number) =>
    until(async () => (await inbox.stats()).active === count)

  /** Waits until the worker knows that another process has taken a delivery. */
  async function isNoticed(inbox: DurableInbox, troubles: readonly string[], id: string): Promise<void> {
    await until(() => troubles.some((text) => text.includes(id)))
    // The inbox then reads the lease. This call uses the same connection, so it resolves later.
    await inbox.stats()
  }

  describe('groups in Redis', () => {
    it('a delivery that another process takes leaves the gathering group at once', async () => {
      const { inbox, ends } = openRecorded()
      const { calls, workers } = gather(inbox, 60_000)
      const [lost = '', kept = ''] = await putEdits(inbox, 2)
      await isActive(inbox, 2)
      await takeOver(lost)
      await until(() => ends.has(lost))
      expect([ends.get(lost), calls]).toEqual([[`failed 1 ${LOST}`], []])
      await workers.close()
      expect(calls.map(({ ids }) => ids)).toEqual([[kept]])
      expect(ends.get(kept)).toEqual(['handled 1'])
      expect(ends.get(lost)).toEqual([`failed 1 ${LOST}`])
    })

    it.each([1, 2])(
      'a group does not contain the deliveries taken while the event loop was blocked: %i of 2',
      async (count) => {
        const { inbox, ends } = openRecorded({ lease: 8_000 })
        const { calls } = gather(inbox, 4_000)
        const [first = ''] = await putEdits(inbox, 1)
        await isActive(inbox, 1)
        const takenAt = await takenAtOf(first)
        // The lease of the second delivery is less than half over when the group is due.
        await until(() => Date.now() > takenAt + 530)
        const ids = [first, ...(await putEdits(inbox, 1))]
        await isActive(inbox, 2)
        const [taken, kept] = [ids.slice(0, count), ids.slice(count)]
        for (const id of taken) await takeOver(id)
        // The group is due before the worker can renew the leases. It checks them if half of a lease has passed.
        blockEventLoop(takenAt + 4_200 - Date.now())
        await until(() => ends.size === 2)
        expect(calls.map((call) => call.ids)).toEqual(kept.length > 0 ? [kept] : [])
        for (const id of taken) expect(ends.get(id)).toEqual([`failed 1 ${LOST}`])
        for (const id of kept) expect(ends.get(id)).toEqual(['handled 1'])
      },
    )

    it('a group keeps a delivery whose lease expired if no other process has taken it', async () => {
      const { inbox, ends } = openRecorded({ lease: 3_000 })
      const { calls } = gather(inbox, 1_800)
      const ids = await putEdits(inbox, 2)
      await isActive(inbox, 2)
      // End the leases too late for BullMQ to return the deliveries to the queue before the group is due.
      const takenAt = await takenAtOf(ids[0] ?? '')
      await until(() => Date.now() > takenAt + 1_200)
      await expireLeases(ids)
      await until(() => ends.size === 2)
      expect(calls.map((call) => call.ids)).toEqual([ids])
      for (const id of ids) expect(ends.get(id)).toEqual(['handled 1'])
    })

    it.each(['success', 'failure'])(
      'a %s of a group is not recorded for a delivery that another process has taken',
      async (end) => {
        const { inbox, ends, troubles } = openRecorded({ retryDelay: 600_000, maxRetryDelay: 600_000 })
        const { gate, release } = createGate()
        const [lost = '', kept = ''] = await putEdits(inbox, 2)
        const { calls, workers } = gather(inbox, 1_000, async () => {
          await gate
          if (end === 'failure') throw new Error('no service')
        })
        await until(() => calls.length === 1)
        await takeOver(lost)
        await isNoticed(inbox, troubles, lost)
        release()
        await until(() => ends.size === 2)
        await workers.close()
        expect(calls.map(({ ids, signal }) => [ids, signal.aborted])).toEqual([[[lost, kept], false]])
        expect(ends.get(lost)).toEqual([`failed 1 ${LOST}`])
        expect(ends.get(kept)).toEqual([end === 'success' ? 'handled 1' : 'failed 1 no service'])
        expect((await inbox.get(lost))?.state).toBe('active')
        expect((await inbox.get(kept))?.state).toBe(end === 'success' ? 'done' : 'waiting')
        if (end === 'failure') return

        // The other process exits before it has handled the delivery.
        await expireLeases([lost])
        const second = openRecorded()
        const later = gather(second.inbox, 1)
        await until(() => second.ends.size === 1)
        expect(later.calls.map(({ ids }) => ids)).toEqual([[lost]])
      },
    )

    it('the signal of a group is aborted as soon as other processes have taken all its deliveries', async () => {
      const { inbox, ends } = openRecorded()
      const ids = await putEdits(inbox, 2)
      const { calls } = gather(
        inbox,
        1_000,
        ({ signal }) => new Promise((resolve) => signal.addEventListener('abort', resolve)),
      )
      await until(() => calls.length === 1)
      for (const id of ids) await takeOver(id)
      await until(() => ends.size === 2)
      for (const id of ids) expect(ends.get(id)).toEqual([`failed 1 ${LOST}`])
      expect(calls.map(({ signal }) => (signal.reason as Error).message)).toEqual([LOST])
    })

    it('handles a delivery that returns to the process after another process had taken it', async () => {
      const { inbox, ends, troubles } = openRecorded()
      const { gate, release } = createGate()
      const leases: (string | null)[] = []
      const leaseOf = (id: string) => client.get(`${keyOf(id)}:lock`)
      const [lost = '', kept = ''] = await putEdits(inbox, 2)
      const { calls } = gather(inbox, 1_000, async () => {
        if (calls.length === 1) return gate
        leases.push(await leaseOf(lost))
      })
      await until(() => calls.length === 1)
      await takeOver(lost)
      await isNoticed(inbox, troubles, lost)
      // The other process exits, and this process takes the delivery again.
      await expireLeases([lost])
      await until(async () => (await leaseOf(lost)) !== null)
      const lease = await leaseOf(lost)
      release()
      await until(async () => (await inbox.stats()).done === 2)
      await until(() => ends.get(lost)?.length === 2)
      expect(calls.map(({ ids }) => ids)).toEqual([[lost, kept], [lost]])
      expect(ends.get(lost)).toEqual([`failed 1 ${LOST}`, 'handled 1'])
      expect(ends.get(kept)).toEqual(['handled 1'])
      expect(await inbox.get(lost)).toMatchObject({ state: 'done', attempts: 1 })
      // The worker handled the delivery under this lease, and did not wait for its end.
      expect(leases).toEqual([lease])
    })

    it('another process does not repeat a successful group whose end was recorded only in part', async () => {
      const { inbox, ends } = openRecorded({ lease: 5_000 }) // so that these workers do not take the delivery again
      const [unrecorded = '', recorded = ''] = await putEdits(inbox, 2)
      // Without its lock, BullMQ cannot record the end of the job.
      const { calls, workers } = gather(inbox, 1_000, () => client.del(`${keyOf(unrecorded)}:lock`))
      await until(() => ends.has(recorded))
      await workers.close()
      expect((await inbox.get(unrecorded))?.state).not.toBe('done')
      const second = openRecorded()
      const later = gather(second.inbox, 1)
      await until(() => second.ends.size === 1)
      expect(second.ends).toEqual(new Map([[unrecorded, ['handled 1']]]))
      expect([calls.length, later.calls.length]).toEqual([1, 0])
    })
  })
})
