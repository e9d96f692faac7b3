import { createServer, type ServerResponse } from "node:http";
import pg from "pg";

// The floor: the cost of a request for the same rows with only node:http, pg and a named statement.
const pool = new pg.Pool({ connectionString: process.env["DATABASE_URL"], max: 20 });

const COLUMNS = `id, name as mcp_server_name, verification_status as api_key_verification_status,
  oauth_client_id as oauth2_client_id, agent_enabled, disabled_tool_ids as disabled_tools, created_at, access_type`;
const LIST = { name: "list", text: `select ${COLUMNS} from connection where account_id = $1 order by id` };
const READ = { name: "read", text: `select ${COLUMNS} from connection where account_id = $1 and id = $2` };
const SCOPES = ["mcp.read", "mcp.write"];

interface Row {
  id: number;
}

const withScopes = (row: Row): object => ({ ...row, oauth2_scopes: SCOPES });

async function answer(target: string, response: ServerResponse): Promise<void> {
  const [, account = "", id] = target.split("/");
  const { rows } =
    id === undefined
      ? await pool.query<Row>({ ...LIST, values: [account] })
      : await pool.query<Row>({ ...READ, values: [account, id] });
  const data = id === undefined ? rows.map(withScopes) : rows.map(withScopes)[0];
  const body = JSON.stringify({ success: true, data });
  response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(body) });
  response.end(body);
}

const server = createServer((request, response) => {
  answer(request.url ?? "", response).catch((error: unknown) => response.writeHead(500).end(String(error)));
});
server.listen(Number(process.env["PORT"]), "127.0.0.1", () => console.log("floor listening"));
