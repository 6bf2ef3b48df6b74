import { createManualClock, createMockService, type LayerSeed, type MockService } from 'geohook/mock'
import { randomEdits } from '../../helpers/random-edits.ts'
import type { Random } from '../../inbox/crash/random.ts'
import type { Edit } from './verdict.ts'

const HOUR = 3_600_000
const LAYERS: LayerSeed[] = [
  { id: 0, name: 'Trees', geometryType: 'esriGeometryPoint' },
  { id: 1, name: 'Fences', geometryType: 'esriGeometryPolyline' },
]

/** A mock with one feature service, and the edits that were made to it. */
export interface Editor {
  service: MockService
  url: string
  edits: readonly Edit[]
  /**
   * Edits features, and lets time pass.
   *
   * @param isOff whether the webhook is switched off for an hour. Default: now and then
   */
  edit(random: Random, isOff?: boolean): Promise<void>
  close(): Promise<void>
}

export async function startEditor(hookUrl: string, key: string): Promise<Editor> {
  const clock = createManualClock(1_700_000_000_000)
  const service = createMockService({
    clock,
    services: [{ serviceName: 'Parcels', serviceType: 'FeatureServer', layers: LAYERS }],
    webhooks: [
      {
        serviceName: 'Parcels',
        serviceType: 'FeatureServer',
        name: 'edits',
        hookUrl,
        signatureKey: key,
        changeTypes: ['*'],
      },
    ],
    // Deliveries to a dead receiver fail, and must not disable the webhook.
    settings: { notificationAttempts: 1, numberOfFailures: 1000, daysInPast: 1 },
    extractChanges: { polls: 1 },
  })
  const url = `${await service.listen()}/rest/services/Parcels/FeatureServer`
  const parcels = service.features('Parcels')
  const edits: Edit[] = []

  function editOnce(random: Random): void {
    const batch = randomEdits(service, { seed: random.between(0, 2 ** 32 - 1), count: random.between(1, 6) })
    const { layers } = parcels.applyEdits(batch)
    for (const [index, { addResults, updateResults, deleteResults }] of layers.entries())
      for (const { globalId, success } of [...addResults, ...updateResults, ...deleteResults])
        if (success)
          edits.push({ layer: batch[index]?.layerId ?? 0, globalId: String(globalId), at: Date.now() })
  }

  async function setActive(active: boolean): Promise<void> {
    for (const { id } of service.snapshot().webhooks) {
      const body = new URLSearchParams({ f: 'json', active: String(active) })
      await fetch(`${service.url}/services/Parcels.FeatureServer/webhooks/${id}/edit`, {
        method: 'POST',
        body,
      })
    }
  }

  return {
    service,
    url,
    edits,
    async edit(random, isOff = random.next() < 0.2) {
      if (isOff) await setActive(false)
      const batches = random.between(1, 5)
      for (let batch = 0; batch < batches; batch++) {
        editOnce(random)
        await clock.advance(isOff ? HOUR / batches : random.between(100, 30_000))
      }
      if (isOff) await setActive(true)
    },
    close: () => service.close(),
  }
}
