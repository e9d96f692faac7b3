import { NavLink } from "@mantine/core";
import { Link, useLocation } from "@tanstack/react-router";
import { useSession } from "./use-session.ts";

const PLACES = [
  { to: "/connections", label: "Connections" },
  { to: "/agents", label: "Connect an agent" },
  { to: "/tokens", label: "Tokens and clients" },
  { to: "/activity", label: "Activity" },
  { to: "/settings", label: "Settings" },
  { to: "/admin", label: "Administration" },
] as const;

/** The navigation. Only administrators see administration. */
export function Navigation() {
  const { pathname } = useLocation();
  const { data: session } = useSession();
  const places = PLACES.filter(({ to }) => to !== "/admin" || session?.isAdmin === true);
  return places.map(({ to, label }) => {
    const isHere = pathname === to || pathname.startsWith(`${to}/`);
    return (
      <NavLink
        key={to}
        component={Link}
        to={to}
        label={label}
        active={isHere}
        {...(isHere && { "aria-current": "page" as const })}
      />
    );
  });
}
