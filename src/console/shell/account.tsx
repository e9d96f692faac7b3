import { Box, Button, Menu } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useApi } from "../api/context.ts";
import { useSession } from "./use-session.ts";

/** The logged-in account and the logout button. */
export function AccountMenu() {
  const { session } = useApi();
  const { data } = useSession();
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <Button variant="default" size="xs" maw={240} aria-label={`Account ${data?.email ?? ""}`.trim()}>
          <Box component="span" hiddenFrom="sm">
            Account
          </Box>
          <Box component="span" visibleFrom="sm">
            {data?.email ?? "Account"}
          </Box>
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item component={Link} to="/settings">
          Settings
        </Menu.Item>
        <Menu.Item component="a" href="/account/password">
          Change the password
        </Menu.Item>
        <Menu.Item onClick={() => void session.end()}>Log out</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
