import { MissingDriver } from './driver.ts'
import type { Workers } from './durable-inbox.ts'
import type { TakenDelivery } from './engine-port.ts'
import { acquireSuspectSlot } from './suspect-slot.ts'
import { createTableAttempts, type TableAttemptsOptions } from './table-attempts.ts'

/** Maximum milliseconds between two polls of the table. Polls find deliveries that other processes have stored. */
const POLL_INTERVAL = 1_000

/** Dependencies of {@link startTableWorkers}. */
export type TableWorkersOptions = Omit<TableAttemptsOptions, 'owner' | 'onEnd'>

/** Starts workers that take deliveries from a table, run their handlers and record how the attempts ended. */
export function startTableWorkers(options: TableWorkersOptions): Workers & {
  /** Polls the table immediately. Call it when there may be a delivery to take. */
  wake(): void
} {
  const { table, config, clock, inProgress } = options
  const { lease, notify } = config
  const owner = crypto.randomUUID()
  let closed = false
  let isAwake = false
  let interruptSleep = () => {}

  const wake = (): void => {
    isAwake = true
    interruptSleep()
  }

  const attempts = createTableAttempts({ ...options, owner, onEnd: wake })

  /**
   * Resolves after the given milliseconds, or as soon as `wake` is called. Resolves immediately if `wake` was called
   * since the last sleep.
   */
  async function sleep(milliseconds: number): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined
    if (!isAwake && milliseconds > 0) {
      await new Promise<void>((resolve) => {
        interruptSleep = resolve
        timer = setTimeout(resolve, milliseconds)
      })
    }
    clearTimeout(timer)
    isAwake = false
  }

  async function loop(): Promise<void> {
    while (!closed) {
      try {
        await sleep(await takeNext())
      } catch (error) {
        notify('trouble', { error })
        if (error instanceof MissingDriver) throw error
        await sleep(POLL_INTERVAL)
      }
    }
  }

  /** @returns milliseconds to wait before calling `takeNext` again */
  async function takeNext(): Promise<number> {
    // If the event loop was blocked, leases may be about to expire: renew them before taking more deliveries.
    const now = clock()
    if (now - lastHeartbeat > lease / 2) heartbeat()
    await renewing
    if (attempts.room().limit === 0) return POLL_INTERVAL
    await takeSuspect(now)
    const room = attempts.room()
    if (room.limit === 0) return POLL_INTERVAL
    const { taken, wait = POLL_INTERVAL } = await table.take({ owner, lease, ...room })
    // Skips deliveries whose handlers are still running in this process, because another process has taken them in the
    // meantime and failed. They are suspects when their new lease expires.
    for (const next of taken) if (!inProgress.has(next.delivery.id)) attempts.begin(next, now)
    return taken.length > 0 ? 0 : Math.min(POLL_INTERVAL, Math.max(1, wait))
  }

  /** Takes a suspect at the poll interval, and right after another one has ended. */
  async function takeSuspect(heldAt: number): Promise<void> {
    if (performance.now() < suspectsAt) return
    const freeSlot = acquireSuspectSlot()
    if (!freeSlot) return
    let taken: TakenDelivery | undefined
    try {
      suspectsAt = performance.now() + POLL_INTERVAL
      taken = await table.takeSuspect({ owner, lease, attempts: config.attempts, inProgress })
      if (taken) suspectsAt = 0
    } finally {
      if (!taken) freeSlot()
    }
    if (taken) attempts.begin(taken, heldAt, freeSlot)
  }

  let suspectsAt = 0
  let lastHeartbeat = -Infinity
  let renewing = Promise.resolve()

  function heartbeat(): void {
    lastHeartbeat = clock()
    renewing = attempts.renew()
  }

  const heartbeats = setInterval(heartbeat, lease / 3)
  const looping = loop()
  return {
    wake,
    async close() {
      closed = true
      wake()
      await looping.catch(() => {})
      await attempts.close()
      clearInterval(heartbeats)
    },
  }
}
