// Runs the feature services in a separate process. Each document can be extracted at once (embedded) and as a job.
import { createDocument, SCRIPTS } from './documents.mjs'
import { startService } from './service.mjs'

const [edits] = process.argv.slice(2).map(Number)
const services = new Map()
for (const script of SCRIPTS) {
  const document = createDocument(script, edits)
  services.set(`${script}_embedded`, { document, isJob: false })
  services.set(`${script}_job`, { document, isJob: true })
}
services.set('small', { document: createDocument('ASCII', 100), isJob: true })
const { changesUrl } = await startService(services)

process.on('message', () => {})
process.send(
  [...services].map(([name, { document }]) => ({
    name,
    url: changesUrl(name, 0, edits),
    bytes: document.length,
  })),
)
