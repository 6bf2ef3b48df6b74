import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { serve } from '../helpers/served.ts'

const EDITS = 100_000

const row = (id: number): object => ({
  attributes: {
    OBJECTID: id,
    GlobalID: `{8A6F2C1E-0000-4000-8000-${String(id).padStart(12, '0')}}`,
    name: `Parcel number ${id}`,
    owner: `Owner ${id % 977}`,
    zone: ['residential', 'commercial', 'farmland'][id % 3],
    area: id * 1.37,
    note: null,
    CreationDate: 1_700_000_000_000 + id,
    Creator: `user${id % 50}`,
    EditDate: 1_700_000_100_000 + id,
    Editor: `user${id % 70}`,
  },
  geometry: { x: 8.5 + id / 1e6, y: 47.3 + id / 1e6 },
})

/**
 * Extracts the changes, and prints by how much the heap and external memory grew: at most (`peak`), and at most after a
 * collection (`live`).
 */
const program = (origin: string): string => `
  import { createChanges } from 'geohook/changes'
  const changes = createChanges({ origins: ['${origin}'] })
  const event = {
    changeType: 'FeaturesEdited',
    webhook: {},
    service: { folderName: '', serviceName: 'Parcels', serviceType: 'FeatureServer' },
    changesUrl: '${origin}/FeatureServer/extractChanges?serverGens=[1,2]',
    raw: {},
  }
  const used = () => {
    const { heapUsed, external } = process.memoryUsage()
    return heapUsed + external
  }
  gc()
  const before = used()
  let [peak, live, samples] = [0, 0, 0]
  const sample = () => {
    samples++
    peak = Math.max(peak, used() - before)
  }
  const sampleLive = () => {
    sample()
    gc()
    live = Math.max(live, used() - before)
  }
  const timer = setInterval(sample, 1)
  const parse = JSON.parse
  JSON.parse = (text) => {
    sampleLive()
    const value = parse(text)
    sampleLive()
    return value
  }
  const { layers: [layer] } = await changes.of(event)
  sampleLive()
  clearInterval(timer)
  console.log(JSON.stringify({ rows: layer.adds.length + layer.updates.length, peak, live, samples }))`

it('100,000 edits need less than 4 times the size of their document', async () => {
  const rows = Array.from({ length: EDITS }, (_, id) => row(id))
  const half = EDITS / 2
  const features = { adds: rows.slice(0, half), updates: rows.slice(half), deleteIds: [] }
  const document = Buffer.from(JSON.stringify({ layerServerGens: [], edits: [{ id: 0, features }] }))
  const { url } = await serve((req, res) => req.resume().once('end', () => res.end(document)))
  const flags = ['--expose-gc', '--input-type=module', '--eval']
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, program(url)])
  const { rows: read, peak, live, samples } = JSON.parse(stdout)
  expect(read).toBe(EDITS)
  expect(samples).toBeGreaterThan(10)
  expect(live).toBeLessThan(4 * document.length)
  expect(peak).toBeLessThan(4 * document.length)
})
