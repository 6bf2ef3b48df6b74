import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createFolder, geohook, parseStdout, withListener, withMock } from '../../helpers/cli.ts'
import { KEY } from '../../helpers/deliver.ts'

const folder = createFolder()
const trees = folder.file(
  'trees.geojson',
  JSON.stringify({
    type: 'Feature',
    id: 3,
    properties: { kind: 'oak' },
    geometry: { type: 'Point', coordinates: [7, 51] },
  }),
)

it('shows the edits behind a delivery that a listener saved, each command in its own process', async () => {
  const captures = join(folder.path, 'captures')
  const receiving = ['--profile', 'service', '--key', KEY, '--save', captures]
  await withMock(['--features', trees], async (mock) => {
    await withListener(receiving, async (url, listener) => {
      const webhook = ['--name', 'n', '--hook-url', url, '--key', KEY]
      expect(await mock.geohook('create', 'trees.FeatureServer', ...webhook)).toMatchObject({ code: 0 })
      const edit = [
        '--add',
        '{"attributes":{"kind":"ash"}}',
        '--update',
        '{"attributes":{"OBJECTID":3,"kind":"old oak"}}',
      ]
      expect(await mock.geohook('edit-features', 'trees', ...edit)).toMatchObject({ code: 0 })
      await listener.printed(/saved: .*-verified\.json/)
    })
    expect(readdirSync(captures)).not.toEqual([])
    const { code, stdout, stderr } = await geohook(['changes', captures])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/^0 +add +4 .* kind=ash$/m)
    expect(stdout).toMatch(/^0 +update +3 .* kind=old oak$/m)
    const { layers } = parseStdout(await geohook(['changes', captures, '--json']))
    expect(layers).toMatchObject([
      {
        adds: [{ attributes: { OBJECTID: 4, kind: 'ash' } }],
        updates: [{ attributes: { OBJECTID: 3, kind: 'old oak' } }],
      },
    ])
  })
})
