// SPDX-License-Identifier: Apache-2.0
'use strict';
// sqlite.js SECONDS: SQLite as WebAssembly (sql.js) fills, sorts and joins tables; run where the package is installed.
const {createRequire} = require('module');
const path = require('path');

async function main(seconds) {
    const SQL = await createRequire(path.join(process.cwd(), 'sqlite.js'))('sql.js')();
    const end = Date.now() + 1000 * seconds;
    let rows = 0;

    while (Date.now() < end) {
        const db = new SQL.Database();

        db.run('CREATE TABLE a (id INTEGER PRIMARY KEY, name TEXT, value REAL); CREATE TABLE b (id, other)');
        const insert = db.prepare('INSERT INTO a VALUES (?, ?, ?)');
        for (let i = 0; i < 5000; i++)
            insert.run([i, 'name ' + i * 7919 % 1013, i / 3]);
        insert.free();
        db.run('INSERT INTO b SELECT id, id * 31 % 5000 FROM a');
        db.create_function('twice', (x) => 2 * x);
        for (const {values} of db.exec(`SELECT a.name, sum(twice(a.value)), count(*) FROM a JOIN b ON a.id = b.other
                                        WHERE a.name LIKE '%1%' GROUP BY a.name ORDER BY 2 DESC`))
            rows += values.length;
        db.close();
    }
    if (!rows)
        throw new Error('no rows');
}

main(Number(process.argv[2]));
