/** Documents of unexpected shape. */
export const DOCUMENTS: [name: string, document: unknown, layers: unknown][] = [
  ['edits that are an object', { edits: {} }, 'malformed'],
  ['edits that are text', { edits: 'none' }, 'malformed'],
  ['a layer that is a list', { edits: [[]] }, 'malformed'],
  ['a layer without an id', { edits: [{ features: {} }] }, 'malformed'],
  ['features that are a list', { edits: [{ id: 0, features: [] }] }, 'malformed'],
  ['adds that are an object', { edits: [{ id: 0, features: { adds: {} } }] }, 'malformed'],
  ['a row without attributes', { edits: [{ id: 0, features: { adds: [{}] } }] }, 'malformed'],
  ['a row that is null', { edits: [{ id: 0, features: { updates: [null] } }] }, 'malformed'],
  [
    'a geometry that is a list',
    { edits: [{ id: 0, features: { adds: [{ attributes: {}, geometry: [] }] } }] },
    'malformed',
  ],
  ['deleteIds that are objects', { edits: [{ id: 0, features: { deleteIds: [{}] } }] }, 'malformed'],
  ['generations that are text', { layerServerGens: [{ id: 0, serverGen: 'x' }] }, 'malformed'],
  ['nothing', {}, 'malformed'],
  ['edits that are null', { edits: null, layerServerGens: null }, []],
  ['only a type', { responseType: 'esriDataChangesResponseTypeNoEdits' }, []],
  [
    'a layer with only an id',
    { edits: [{ id: 3 }] },
    [{ id: 3, adds: [], updates: [], deletes: { ids: [] } }],
  ],
  [
    'members that are null',
    { edits: [{ id: 3, features: null, objectIds: null, attachments: { adds: null, deleteIds: null } }] },
    [{ id: 3, adds: [], attachments: { adds: [], updates: [], deleteIds: [] } }],
  ],
  [
    'numbers and texts as deleteIds',
    { edits: [{ id: 0, features: { deleteIds: [7, '{A}'] } }] },
    [{ deletes: { ids: ['7', '{A}'] } }],
  ],
  [
    'only object ids',
    { edits: [{ id: 0, objectIds: { adds: [1], updates: [2], deletes: [3] } }] },
    [{ adds: [], objectIds: { adds: [1], updates: [2] }, deletes: { ids: ['3'] } }],
  ],
  [
    'rows of deleted features',
    {
      edits: [{ id: 0, features: { deleteIds: ['A'], deletes: [{ attributes: { n: 1 }, geometry: null }] } }],
    },
    [{ deletes: { ids: ['A'], features: [{ attributes: { n: 1 } }] } }],
  ],
  [
    'fieldUpdates and hasGeometryUpdates',
    { edits: [{ id: 0, hasGeometryUpdates: true, features: { updates: [], fieldUpdates: [4] } }] },
    [{ fieldUpdates: [4], hasGeometryUpdates: true }],
  ],
]
