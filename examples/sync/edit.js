// Adds, changes and deletes trees in the mock service, which must be running:
//   node edit.js
const {
  SERVICE_URL = 'http://127.0.0.1:4000/rest/services/Parcels/FeatureServer',
  EDITS = '20', // number of requests; the service sends a delivery for each
} = process.env

const kept = []

for (let round = 1; round <= Number(EDITS); round++) {
  const kind = `tree ${round}`
  const edits = { adds: [{ attributes: { kind, height: round }, geometry: { x: 7 + round / 100, y: 47 } }] }
  const oldest = kept[0]
  if (round % 2 === 0) edits.updates = [{ attributes: { OBJECTID: oldest, height: round + 0.5 } }]
  else if (round % 3 === 0) edits.deletes = [kept.shift()]
  const { addResults } = await applyEdits(edits)
  kept.push(addResults[0].objectId)
}
console.log(`${EDITS} edits; added and not deleted: ${kept.join(', ')}`)

async function applyEdits(edits) {
  const fields = Object.entries(edits).map(([name, rows]) => [name, JSON.stringify(rows)])
  const body = new URLSearchParams([...fields, ['f', 'json']])
  const response = await fetch(`${SERVICE_URL}/0/applyEdits`, { method: 'POST', body })
  const answer = await response.json()
  if (answer.error) throw new Error(`${answer.error.code} ${answer.error.message}`)
  return answer
}
