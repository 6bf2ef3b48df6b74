import { describe, expect, it } from 'vitest'
import { createReader } from './reader.ts'
import { type Parcels, START, startParcels } from './support.ts'

/** Calls `cleanupChangeTracking`. @returns the JSON of the response */
async function cleanUp({ service }: Parcels, fields: Record<string, string>, path = '/rest/admin') {
  const url = `${service.url}${path}/services/Parcels/FeatureServer/cleanupChangeTracking`
  const body = new URLSearchParams({ f: 'json', ...fields })
  return (await fetch(url, { method: 'POST', body })).json()
}

/** Two features, added in two generations, a day apart. */
async function startWithHistory(): Promise<Parcels> {
  const parcels = await startParcels({ extractChanges: { answer: 'embedded' } })
  await parcels.add('one')
  await parcels.clock.advance(86_400_000)
  await parcels.add('two')
  return parcels
}

const canExtract = ({ url }: Parcels, generation: number): Promise<boolean> =>
  createReader()
    .extract(`${url}/extractChanges?serverGens=[${generation}]`)
    .then(
      () => true,
      () => false,
    )

describe('cleanupChangeTracking', () => {
  it.each(['/rest/admin', '/admin'])('below %s, drops the changes up to minServerGen', async (path) => {
    const parcels = await startWithHistory()
    expect(await cleanUp(parcels, { minServerGen: String(START + 1) }, path)).toEqual({ success: true })
    expect([await canExtract(parcels, START), await canExtract(parcels, START + 1)]).toEqual([false, true])
    const { changeTrackingInfo } = await parcels.post('', { returnUpdates: 'true' })
    expect(changeTrackingInfo.layerServerGens).toEqual([
      { id: 0, minServerGen: START + 1, serverGen: START + 2 },
    ])
  })

  it('a generation after the current one drops everything, but no later change', async () => {
    const parcels = await startWithHistory()
    await cleanUp(parcels, { minServerGen: String(START + 99) })
    expect([await canExtract(parcels, START + 1), await canExtract(parcels, START + 2)]).toEqual([
      false,
      true,
    ])
  })

  it.each([
    [{}, 'minServerGen is required'],
    [{ minServerGen: 'x' }, 'minServerGen'],
    [{ minServerGen: '1', retentionPeriod: '1' }, 'retentionPeriod'],
    [{ minServerGen: '1', layers: '3' }, 'no layer 3'],
    [{ minServerGen: '1', replicaId: 'r' }, 'no replicas'],
    [{ minServerGen: '1', async: 'true' }, 'async'],
  ])('refuses %j', async (fields: Record<string, string>, message) => {
    const { error } = await cleanUp(await startWithHistory(), fields)
    expect(error).toMatchObject({ code: 400, message: expect.stringContaining(message) })
  })
})
