// Compares this checkout with another one: `npm run bench -- --against <folder>`. Both builds are subjects of the same
// rounds, in random order, so that other work on the machine slows down both.
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { measureHttp } from './http.mjs'
import { sizeName } from './payloads.mjs'
import { ROOT, times } from './report.mjs'
import { interleave, ratio } from './rounds.mjs'
import { load } from './start.mjs'
import { geohook, measureVerify } from './verify.mjs'

const SIZES = [256, 1024, 4096, 16 * 1024]
const FRAMEWORKS = ['node', 'express', 'fastify']

const mainEntry = (root) => pathToFileURL(join(root, 'dist/index.js')).href

/** Returns a table with the time of this build relative to that of the other one: below 1, this build is faster. */
export async function compareBuilds(folder, { smoke, say }) {
  const roots = [ROOT, resolve(folder)]
  if (!existsSync(join(roots[1], 'dist/index.js')))
    throw new Error(`${roots[1]} has no dist/: build it first`)
  const rows = []
  const add = (name, [current, other]) => {
    rows.push([name, times(ratio(current, other))])
    say(rows.at(-1).join(': '))
  }

  const modules = await Promise.all(roots.map((root) => import(mainEntry(root))))
  const builds = modules.map(({ verify }, index) => geohook(roots[index], verify))
  for (const size of SIZES) add(`verify, ${sizeName(size)}`, await measureVerify(builds, size, smoke, 10))

  for (const server of FRAMEWORKS) {
    const subjects = roots.map((root) => ({ server, root }))
    const figures = await measureHttp(subjects, { smoke, ...(smoke ? {} : { passes: 4, rounds: 10 }) })
    const times = figures.map((rounds) => rounds.map(({ rate }) => 1 / rate))
    add(`http, ${server}, ${sizeName(1024)}`, times)
  }

  const loading = await interleave(builds, {
    rounds: smoke ? 1 : 60,
    warmup: smoke ? 0 : 2,
    measure: ({ name: root }) => load(mainEntry(root)),
  })
  add('import', [...loading.values()])
  return { title: `time of this build relative to ${folder}`, columns: ['', 'new/old'], rows }
}
