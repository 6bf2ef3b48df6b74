import { createChanges } from '../../dist/changes.js'

/** Counts the edits of layers, as a handler would traverse them. */
function count(adds, updates, deletes) {
  let edits = deletes.length
  for (const list of [adds, updates])
    for (const { attributes } of list) if (attributes.OBJECTID > 0) edits += 1
  return edits
}

const sum = (list) => list.reduce((total, item) => total + item, 0)

/** Functions that extract the changes behind a URL, and return the number of edits. */
export const READERS = {
  async geohook(url) {
    // The job is completed at its first poll, so a longer interval would only add a pause.
    const changes = createChanges({ origins: [new URL(url).origin], pollInterval: { min: 1, max: 1 } })
    const { layers } = await changes.of({ changeType: 'FeaturesEdited', changesUrl: url })
    return sum(layers.map(({ adds, updates, deletes }) => count(adds, updates, deletes.ids)))
  },

  async 'by hand'(url) {
    let response = await fetch(url, { method: 'POST', body: new URLSearchParams({ f: 'json' }) })
    let answer = JSON.parse(await response.text())
    if (answer.statusUrl) {
      response = await fetch(answer.statusUrl)
      response = await fetch((await response.json()).resultUrl)
      answer = JSON.parse(await response.text())
    }
    return sum(
      answer.edits.map(({ features: { adds, updates, deleteIds } }) => count(adds, updates, deleteIds)),
    )
  },
}
