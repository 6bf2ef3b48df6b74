import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { GenerationStore } from 'geohook/inbox'
import pg from 'pg'
import { expect, it, onTestFinished } from 'vitest'
import { createFolder } from '../helpers/folder.ts'
import { describeWith, POSTGRES } from '../helpers/services.ts'
import { change, codeIn, installed, link } from './recipes.ts'

const SERVICE = 'https://gis.example.com/server/rest/services/Parcels/FeatureServer'
const SCHEMA = `geohook_generations_${process.pid}`

await describeWith(POSTGRES, (url) => {
  it('docs/queues.md has a store of generations', async () => {
    const folder = createFolder()
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    await client.query(`create schema ${SCHEMA}`)
    onTestFinished(async () => {
      await client.query(`drop schema ${SCHEMA} cascade`)
      await client.end()
      await folder.remove()
    })
    const [code = ''] = codeIn('What you give up')
    const options = { connectionString: url, options: `-c search_path=${SCHEMA}` }
    writeFileSync(
      folder.fileIn('store.mjs'),
      change(`${code}\nexport { pool }\n`, [
        ['{ connectionString: process.env.DATABASE_URL }', JSON.stringify(options)],
      ]),
    )
    link(join(folder.fileIn('store.mjs'), '..'), installed('pg'))
    const { generations, pool } = (await import(folder.fileIn('store.mjs'))) as {
      generations: GenerationStore
      pool: pg.Pool
    }
    onTestFinished(() => pool.end())
    const read = async (handler?: string) =>
      [...(await generations.get(SERVICE, handler))].sort(([a], [b]) => a - b)
    const { MAX_SAFE_INTEGER: max } = Number

    expect(await read()).toEqual([])
    await Promise.all(
      Array.from({ length: 20 }, (_, number) =>
        generations.raise(SERVICE, new Map([[number % 3, number] as const, [3, max - number] as const])),
      ),
    )
    expect(await read()).toEqual([
      [0, 18],
      [1, 19],
      [2, 17],
      [3, max],
    ])
    await generations.raise(`${SERVICE}/other`, new Map([[0, 1]]))
    await generations.raise(SERVICE, new Map([[0, 5]]))
    await generations.raise(SERVICE, new Map())
    expect((await read())[0]).toEqual([0, 18])
    await generations.raise(SERVICE, new Map([[1, 3]]), 'FeaturesEdited')
    await generations.raise(SERVICE, new Map([[1, 2]]), 'FeaturesEdited')
    expect(await read('FeaturesEdited')).toEqual([[1, 3]])
    expect((await read())[1]).toEqual([1, 19])
    await generations.replace(SERVICE, new Map([[1, -4]]))
    expect(await read()).toEqual([[1, -4]])
    expect(await read('FeaturesEdited')).toEqual([])
    await generations.replace(SERVICE, new Map())
    expect(await read()).toEqual([])
    expect((await generations.get(`${SERVICE}/other`)).size).toBe(1)
  })
})
