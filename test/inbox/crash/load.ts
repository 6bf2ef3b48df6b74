import { createMockService } from 'geohook/mock'
import type { Sent } from './check.ts'
import type { Random } from './random.ts'

/** Deliveries sent at a fixed rate, whether or not a receiver is running. */
export interface Load {
  /** Calls `listener` for every response that acknowledges a delivery. Returns a function that removes the listener. */
  onAcknowledged(listener: () => void): () => void
  /** Stops sending new deliveries, and resolves when the last attempt has ended. */
  stop(): Promise<Sent[]>
}

/** Milliseconds between two deliveries. */
const GAP = 20
/** Maximum number of deliveries in flight. It limits how many deliveries fail while no receiver runs. */
const MAX_IN_FLIGHT = 50

/** Each service has one webhook. There are several, because the mock deactivates a webhook after 1,000 failures. */
const SERVICES = ['Buffer', 'Clip', 'Dissolve', 'Overlay']

const isAcknowledged = ({ answer }: { answer?: { status: number } }): boolean =>
  answer !== undefined && answer.status >= 200 && answer.status < 300

export function startLoad(hookUrl: string, signatureKey: string, random: Random): Load {
  const service = createMockService({
    webhooks: SERVICES.map((serviceName) => ({
      serviceName,
      serviceType: 'GPServer',
      name: 'jobs',
      hookUrl,
      signatureKey,
    })),
    settings: {
      notificationAttempts: 5,
      notificationElapsedTimeInSeconds: 2,
      numberOfFailures: 1_000,
      daysInPast: 1,
    },
  })
  const sending: Promise<Sent>[] = []
  let inFlight = 0

  async function send(id: string, taskName: string): Promise<Sent> {
    const changeType = random.between(0, 1) === 0 ? 'esriJobSucceeded' : 'esriJobFailed'
    const event = { changeType, jobId: id, taskName } as const
    inFlight += 1
    const serviceName = SERVICES[sending.length % SERVICES.length] ?? ''
    const attempts = await service.trigger({ serviceName, serviceType: 'GPServer', ...event })
    inFlight -= 1
    return { id, changeType, acknowledged: attempts.some(isAcknowledged) }
  }

  const timer = setInterval(() => {
    if (inFlight >= MAX_IN_FLIGHT) return
    sending.push(send(`job${sending.length}`, 'x'.repeat(random.between(1, 250))))
  }, GAP)

  return {
    onAcknowledged: (listener) =>
      service.on((notice) => {
        if (notice.type === 'attempt' && isAcknowledged(notice.attempt)) listener()
      }),
    async stop() {
      clearInterval(timer)
      const sent = await Promise.all(sending)
      const isActive = service.snapshot().webhooks.every(({ active }) => active)
      await service.close()
      if (!isActive) throw new Error('too many deliveries failed: the sender has disabled the webhook')
      return sent
    },
  }
}
