import { setTimeout } from 'node:timers/promises'
import { JSON_TYPE, signatureOf } from '../../helpers/deliver.ts'
import type { Sent } from './check.ts'
import type { Load } from './load.ts'
import type { Random } from './random.ts'

/** Milliseconds between two deliveries. */
const GAP = 20
/** Maximum number of deliveries in flight. */
const MAX_IN_FLIGHT = 50
/** Number of attempts to send a delivery, and milliseconds between them. */
const ATTEMPTS = 5
const RETRY_DELAY = 500

const SERVICES = ['Parcels', 'Roads', 'Trees']

/** Sends deliveries of feature services at a fixed rate. The windows of a service follow one another. */
export function startEditLoad(hookUrl: string, signatureKey: string, random: Random): Load {
  const sending: Promise<Sent>[] = []
  const listeners = new Set<() => void>()
  let inFlight = 0

  function createBody(number: number): string {
    const serviceName = SERVICES[number % SERVICES.length]
    const window = encodeURIComponent(`[${number},${number + SERVICES.length}]`)
    return JSON.stringify({
      serviceName,
      changesUrl: `https://gis.example.com/rest/services/${serviceName}/FeatureServer/extractChanges?serverGens=${window}`,
      jobId: `edit${number}`,
      taskName: 'x'.repeat(random.between(1, 250)),
      events: [{ eventType: 'FeaturesUpdated', when: Date.now() }],
    })
  }

  async function attempt(body: string): Promise<boolean> {
    const headers = { 'content-type': JSON_TYPE, 'x-service': signatureOf(body, signatureKey) }
    try {
      const response = await fetch(hookUrl, { method: 'POST', headers, body })
      await response.arrayBuffer()
      return response.ok
    } catch {
      return false // the receiver was killed
    }
  }

  async function send(number: number): Promise<Sent> {
    inFlight++
    const body = createBody(number)
    let acknowledged = false
    for (let left = ATTEMPTS; left > 0 && !acknowledged; left--) {
      acknowledged = await attempt(body)
      if (!acknowledged) await setTimeout(RETRY_DELAY)
    }
    inFlight--
    if (acknowledged) for (const listener of listeners) listener()
    return { id: `edit${number}`, acknowledged }
  }

  const timer = setInterval(() => {
    if (inFlight < MAX_IN_FLIGHT) sending.push(send(sending.length))
  }, GAP)

  return {
    onAcknowledged(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    async stop() {
      clearInterval(timer)
      return Promise.all(sending)
    },
  }
}
