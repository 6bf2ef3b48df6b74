// Runs feature services, one for each document: an extraction is a job that is already completed. Sends the addresses.
import { createServer } from 'node:http'
import { createDocument, SCRIPTS } from './documents.mjs'

const edits = Number(process.argv[2])
/** A small document first, which lets the readers load all code. */
const subjects = [
  { script: 'ASCII', edits: 100, document: createDocument('ASCII', 100) },
  ...SCRIPTS.map((script) => ({ script, edits, document: createDocument(script, edits) })),
]

const server = createServer((req, res) => {
  req.resume()
  const [, index, path] = /^\/rest\/services\/(\d)\/FeatureServer\/(\w+)/.exec(req.url) ?? []
  const root = `http://${req.headers.host}/rest/services/${index}/FeatureServer`
  const answers = {
    extractChanges: () => JSON.stringify({ statusUrl: `${root}/jobs/1` }),
    jobs: () => JSON.stringify({ status: 'Completed', resultUrl: `${root}/changefiles/1.json` }),
    changefiles: () => subjects[index].document,
  }
  const body = Buffer.from(answers[path]())
  res.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length }).end(body)
})

// A listener keeps the process running until it is killed.
process.on('message', () => {})
server.listen(0, '127.0.0.1', () => {
  const root = `http://127.0.0.1:${server.address().port}/rest/services`
  process.send(
    subjects.map(({ script, edits, document }, index) => ({
      script,
      edits,
      url: `${root}/${index}/FeatureServer/extractChanges?serverGens=%5B0,${edits}%5D`,
      bytes: document.length,
    })),
  )
})
