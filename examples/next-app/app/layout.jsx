import "./style.css";

export const metadata = { title: "Ask the handbook" };

export default function Layout({ children }) {
  return (
    <html lang="en">
      <body>{children}</body>
    </html>
  );
}
