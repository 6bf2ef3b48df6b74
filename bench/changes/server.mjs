// Runs the feature services in a separate process. Each document can be extracted at once (embedded) and as a job.
import { createDocument, SCRIPTS } from './documents.mjs'
import { startService } from './service.mjs'

const edits = Number(process.argv[2])
const SMALL = 100
const subjects = [{ script: 'ASCII', answer: 'job', edits: SMALL, document: createDocument('ASCII', SMALL) }]
for (const script of SCRIPTS) {
  const document = createDocument(script, edits)
  for (const answer of ['embedded', 'job']) subjects.push({ script, answer, edits, document })
}
const named = subjects.map((subject, index) => [`service${index}`, subject])
const { changesUrl } = await startService(
  new Map(named.map(([name, { document, answer }]) => [name, { document, isJob: answer === 'job' }])),
)

// A listener keeps the process running until it is killed.
process.on('message', () => {})
process.send(
  named.map(([name, { document, ...subject }]) => ({
    ...subject,
    url: changesUrl(name, 0, subject.edits),
    bytes: document.length,
  })),
)
