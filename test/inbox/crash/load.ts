import { createMockService } from 'geohook/mock'
import type { Sent } from './check.ts'
import type { Random } from './random.ts'

/** Deliveries that are sent one after another, whether or not there is a receiver. */
export interface Load {
  /** Calls the listener at every answer that acknowledges a delivery, until it is called off. */
  onAcknowledged(listener: () => void): () => void
  /** Sends nothing new, and resolves when no attempt is to come any more. */
  stop(): Promise<Sent[]>
}

/** Milliseconds between two deliveries. */
const GAP = 20
/** So many are on their way at most: else all would fail that a receiver misses which is away for long. */
const ON_THEIR_WAY = 50

/** One webhook for each: the mock switches a webhook off after 1,000 failed deliveries, and on a slow machine more fail. */
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
  let onTheirWay = 0

  async function send(id: string, taskName: string): Promise<Sent> {
    const event = { changeType: 'esriJobSucceeded', jobId: id, taskName } as const
    onTheirWay += 1
    const serviceName = SERVICES[sending.length % SERVICES.length] ?? ''
    const attempts = await service.trigger({ serviceName, serviceType: 'GPServer', ...event })
    onTheirWay -= 1
    return { id, acknowledged: attempts.some(isAcknowledged) }
  }

  const timer = setInterval(() => {
    if (onTheirWay >= ON_THEIR_WAY) return
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
      if (!isActive) throw new Error('too much has failed: the sender has switched the webhook off')
      return sent
    },
  }
}
