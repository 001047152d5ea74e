// The theme follows the system until the button is pressed. Without this script the page is complete, but has no button.
(function () {
  var root = document.documentElement, button = document.getElementById("theme");
  var system = matchMedia("(prefers-color-scheme: dark)");
  function isDark() {
    var chosen = root.getAttribute("data-theme");
    return chosen ? chosen === "dark" : system.matches;
  }
  function labelButton() {
    button.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", button.textContent + " theme");
  }
  button.hidden = false;
  button.addEventListener("click", function () {
    root.setAttribute("data-theme", isDark() ? "light" : "dark");
    labelButton();
  });
  system.addEventListener("change", labelButton);
  labelButton();
})();
