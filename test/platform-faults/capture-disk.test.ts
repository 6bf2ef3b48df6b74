import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { readCaptures } from '../../src/cli/io/captures.ts'
import { newIo, withListener } from '../helpers/cli.ts'
import { JSON_TYPE, KEY, signatureOf } from '../helpers/deliver.ts'
import { send } from '../helpers/http.ts'
import { createDisk, describeWithDisks } from '../helpers/tmpfs.ts'

/** Larger than the free space of a full disk. */
const BODY = JSON.stringify({ events: [{ eventType: 'FeaturesCreated' }], more: 'x'.repeat(100_000) })

/** Writes until the disk is full. */
function fill(path: string): void {
  try {
    for (;;) writeFileSync(path, Buffer.alloc(4_096), { flag: 'a' })
  } catch (error) {
    expect(error).toMatchObject({ code: 'ENOSPC' })
  }
}

await describeWithDisks(() => {
  it('geohook listen --save responds on a full disk, reports each capture that it cannot save, and leaves no partial file', async () => {
    const disk = createDisk(1)
    onTestFinished(() => disk.remove())
    const [captures, filler] = [join(disk.path, 'captures'), join(disk.path, 'filler')]
    mkdirSync(captures)
    fill(filler)
    const headers = { 'content-type': JSON_TYPE, 'x-service': signatureOf(BODY) }
    const options = { env: { SIGNATURE_KEY: KEY } }
    await withListener(
      ['--save', captures],
      async (url, listener) => {
        expect((await send(url, { headers, body: BODY })).status).toBe(200)
        await listener.printed(/cannot save a capture in .*: ENOSPC/)
        expect(readdirSync(captures)).toEqual([])
        rmSync(filler)
        expect((await send(url, { headers, body: BODY })).status).toBe(200)
        await listener.printed(/saved: .*\.json/)
      },
      options,
    )
    const saved = await readCaptures(newIo(), [captures])
    expect(saved.map(({ body }) => Buffer.from(body).toString())).toEqual([BODY])
  })
})
