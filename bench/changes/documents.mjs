/** Texts of attributes. A document with a letter outside Latin-1 is a string of two bytes per character. */
const TEXTS = {
  ASCII: { name: 'Harbour Street', notes: 'inspected, the fence along the road is missing', editor: 'clara' },
  'non-Latin': {
    name: 'Λιμάνι Πειραιά',
    notes: 'ελέγχθηκε, λείπει ο φράχτης κατά μήκος του δρόμου',
    editor: 'κλάρα',
  },
}

export const SCRIPTS = Object.keys(TEXTS)

const WHEN = 1_730_385_704_000

export function createFeature(script, id) {
  const { name, notes, editor } = TEXTS[script]
  return {
    geometry: { x: 2_634_000.25 + id * 1.5, y: 4_573_000.75 - id * 0.5 },
    attributes: {
      OBJECTID: id,
      GlobalID: globalId(id),
      name: `${name} ${id}`,
      status: id % 3,
      area: 812.4 + id / 8,
      notes: `${notes} (${id})`,
      CreationDate: WHEN + id,
      Creator: editor,
      EditDate: WHEN + id * 1_000,
      Editor: editor,
    },
  }
}

const globalId = (id) => `{8F2C0000-0000-4000-8000-${id.toString(16).toUpperCase().padStart(12, '0')}}`

/** Creates a change document of one layer: 40 % of the edits are adds, 50 % updates and 10 % deletes. */
export function createDocument(script, edits) {
  const [adds, updates, deleteIds] = [[], [], []]
  for (let id = 1; id <= edits; id++) {
    if (id % 10 === 0) deleteIds.push(globalId(id))
    else (id % 10 < 5 ? adds : updates).push(createFeature(script, id))
  }
  const document = {
    layerServerGens: [{ id: 0, serverGen: edits }],
    transportType: 'esriTransportTypeUrl',
    responseType: 'esriDataChangesResponseTypeEdits',
    edits: [{ id: 0, features: { adds, updates, deleteIds } }],
  }
  return Buffer.from(JSON.stringify(document))
}
